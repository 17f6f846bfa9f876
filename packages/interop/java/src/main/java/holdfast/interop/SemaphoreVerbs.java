package holdfast.interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

final class SemaphoreVerbs {
  private final RedissonClient redisson;

  SemaphoreVerbs(RedissonClient redisson) {
    this.redisson = redisson;
  }

  Object run(Command command) throws Exception {
    RSemaphore semaphore = redisson.getSemaphore(command.name());
    int permits = (int) command.number("permits", 1);
    switch (command.verb()) {
      case "trySetPermits":
        return semaphore.trySetPermits(permits);
      case "addPermits":
        semaphore.addPermits(permits);
        return null;
      case "acquire":
        semaphore.acquire(permits);
        return null;
      case "tryAcquire":
        return semaphore.tryAcquire(permits, command.number("wait", 0), MILLISECONDS);
      case "release":
        semaphore.release(permits);
        return null;
      case "available":
        return semaphore.availablePermits();
      case "drain":
        return semaphore.drainPermits();
      default:
        throw new IllegalArgumentException("No verb of a semaphore: " + command.verb());
    }
  }
}
