package holdfast.interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;

/** A semaphore whose permits end by themselves. */
final class PermitVerbs {
  private final RedissonClient redisson;

  PermitVerbs(RedissonClient redisson) {
    this.redisson = redisson;
  }

  Object run(Command command) throws Exception {
    RPermitExpirableSemaphore semaphore = redisson.getPermitExpirableSemaphore(command.name());
    int permits = (int) command.number("permits", 1);
    long lease = command.number("lease", -1);
    switch (command.verb()) {
      case "trySetPermits":
        return semaphore.trySetPermits(permits);
      case "acquire":
        return lease < 0 ? semaphore.acquire() : semaphore.acquire(lease, MILLISECONDS);
      case "tryAcquire":
        return semaphore.tryAcquire(command.number("wait", 0), lease, MILLISECONDS);
      case "release":
        semaphore.release(command.options().get("id"));
        return null;
      case "tryRelease":
        return semaphore.tryRelease(command.options().get("id"));
      case "available":
        return semaphore.availablePermits();
      case "acquired":
        return semaphore.acquiredPermits();
      default:
        throw new IllegalArgumentException("No verb of a semaphore: " + command.verb());
    }
  }
}
