package holdfast.interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Every kind of lock. */
final class LockVerbs {
  private final RedissonClient redisson;
  private final Contention contention;

  LockVerbs(RedissonClient redisson) {
    this.redisson = redisson;
    this.contention = new Contention(redisson);
  }

  Object run(Command command) throws Exception {
    RLock lock = find(command.kind(), command.name());
    Long lease = command.number("lease");
    switch (command.verb()) {
      case "lock":
        lock.lock(lease == null ? -1 : lease, MILLISECONDS);
        return null;
      case "tryLock":
        return tryLock(lock, command.number("wait"), lease);
      case "unlock":
        lock.unlock();
        return null;
      case "forceUnlock":
        return lock.forceUnlock();
      case "isLocked":
        return lock.isLocked();
      case "holdCount":
        return lock.getHoldCount();
      case "isHeld":
        return lock.isHeldByCurrentThread();
      case "ttl":
        return lock.remainTimeToLive();
      case "lockAndGetToken":
        return ((RFencedLock) lock).lockAndGetToken();
      case "getToken":
        return ((RFencedLock) lock).getToken();
      case "owner":
        return redisson.getId() + ":" + Thread.currentThread().getId();
      case "contend":
        return contention.run(lock, command);
      default:
        throw new IllegalArgumentException("No verb of a lock: " + command.verb());
    }
  }

  private static boolean tryLock(RLock lock, Long wait, Long lease) throws InterruptedException {
    if (wait == null && lease == null) {
      return lock.tryLock();
    }
    return lock.tryLock(wait == null ? 0 : wait, lease == null ? -1 : lease, MILLISECONDS);
  }

  private RLock find(String kind, String name) {
    return switch (kind) {
      case "lock" -> redisson.getLock(name);
      case "fair" -> redisson.getFairLock(name);
      case "read" -> redisson.getReadWriteLock(name).readLock();
      case "write" -> redisson.getReadWriteLock(name).writeLock();
      case "fenced" -> redisson.getFencedLock(name);
      case "spin" -> redisson.getSpinLock(name);
      case "non-reentrant" -> Versions.getNonReentrantLock(redisson, name);
      case "multi" -> redisson.getMultiLock(redisson.getLock(name), redisson.getLock(name + ":second"));
      default -> throw new IllegalArgumentException("No kind: " + kind);
    };
  }
}
