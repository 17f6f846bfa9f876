package holdfast.interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.Map;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/** Takes a lock again and again, and counts in two steps that only the lock makes one. */
final class Contention {
  private final RedissonClient redisson;

  Contention(RedissonClient redisson) {
    this.redisson = redisson;
  }

  /** Options: {@code counter} key, {@code forMs}, {@code wait} of one try, {@code holdMs} and {@code thinkMs} of each turn. */
  Map<String, Object> run(RLock lock, Command command) throws InterruptedException {
    RBucket<String> counter = redisson.getBucket(command.options().get("counter"), StringCodec.INSTANCE);
    long endsAt = System.nanoTime() + MILLISECONDS.toNanos(command.number("forMs", 1_000));
    long wait = command.number("wait", 10_000);
    long taken = 0;
    long refused = 0;
    long longestNs = 0;
    while (System.nanoTime() < endsAt) {
      long askedAt = System.nanoTime();
      if (lock.tryLock(wait, MILLISECONDS)) {
        longestNs = Math.max(longestNs, System.nanoTime() - askedAt);
        try {
          String before = counter.get();
          counter.set(String.valueOf(before == null ? 1 : Long.parseLong(before) + 1));
          taken++;
          Thread.sleep(command.number("holdMs", 0));
        } finally {
          lock.unlock();
        }
        Thread.sleep(command.number("thinkMs", 0));
      } else {
        refused++;
      }
    }
    return Map.of("taken", taken, "refused", refused, "longestMs", longestNs / 1e6);
  }
}
