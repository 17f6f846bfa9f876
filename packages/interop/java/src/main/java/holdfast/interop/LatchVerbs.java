package holdfast.interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import org.redisson.api.RCountDownLatch;
import org.redisson.api.RedissonClient;

final class LatchVerbs {
  private final RedissonClient redisson;

  LatchVerbs(RedissonClient redisson) {
    this.redisson = redisson;
  }

  Object run(Command command) throws Exception {
    RCountDownLatch latch = redisson.getCountDownLatch(command.name());
    switch (command.verb()) {
      case "trySetCount":
        return latch.trySetCount(command.number("count"));
      case "countDown":
        latch.countDown();
        return null;
      case "await":
        Long wait = command.number("wait");
        if (wait != null) {
          return latch.await(wait, MILLISECONDS);
        }
        latch.await();
        return true;
      case "count":
        return latch.getCount();
      case "delete":
        return latch.delete();
      default:
        throw new IllegalArgumentException("No verb of a latch: " + command.verb());
    }
  }
}
