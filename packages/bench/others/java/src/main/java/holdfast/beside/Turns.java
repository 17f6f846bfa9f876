package holdfast.beside;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.Scanner;
import java.util.concurrent.ThreadLocalRandom;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.config.Config;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Takes a lock of ShedLock or Redisson again and again and says when it is inside, or once, and unlocks it late. */
public final class Turns {
  private static final int LONGEST_WORK_MS = 4;
  private static final int WAIT_MS = 10;

  /** Waits for the lock; what it gives unlocks. */
  interface Acquire {
    Runnable acquire(String name, Duration lease) throws InterruptedException;
  }

  private Turns() {}

  public static void main(String[] args) throws InterruptedException {
    String url = args[2];
    Acquire library = args[1].equals("redisson") ? redisson(url) : shedLock(url);
    Duration lease = Duration.ofMillis(Long.parseLong(args[4]));
    if (args[0].equals("turns")) {
      turns(RedisClient.create(url).connect().sync(), library, args[3], lease, args[5], args[6]);
    } else {
      late(library, args[3], lease);
      System.exit(0);
    }
  }

  /** ShedLock has no wait of its own: a task that is refused does not run. So it is asked again. */
  private static Acquire shedLock(String url) {
    URI uri = URI.create(url);
    LettuceConnectionFactory factory = new LettuceConnectionFactory(uri.getHost(), uri.getPort());
    factory.afterPropertiesSet();
    factory.start();
    RedisLockProvider provider = new RedisLockProvider(factory);
    return (name, lease) -> {
      for (; ; ) {
        Optional<SimpleLock> lock =
            provider.lock(new LockConfiguration(Instant.now(), name, lease, Duration.ZERO));
        if (lock.isPresent()) return lock.get()::unlock;
        Thread.sleep(WAIT_MS);
      }
    };
  }

  private static Acquire redisson(String url) {
    Config config = new Config();
    config.useSingleServer().setAddress(url);
    var client = Redisson.create(config);
    return (name, lease) -> {
      RLock lock = client.getLock(name);
      lock.lock(lease.toMillis(), java.util.concurrent.TimeUnit.MILLISECONDS);
      return lock::unlock;
    };
  }

  private static void turns(
      RedisCommands<String, String> redis, Acquire library, String name, Duration lease, String events, String me)
      throws InterruptedException {
    for (; ; ) {
      Runnable unlock = library.acquire(name, lease);
      redis.rpush(events, "in " + me);
      Thread.sleep(ThreadLocalRandom.current().nextInt(LONGEST_WORK_MS));
      redis.rpush(events, "out " + me);
      unlock.run();
      Thread.sleep(ThreadLocalRandom.current().nextInt(LONGEST_WORK_MS));
    }
  }

  /** It may be refused with an error: that is what is to be shown. */
  private static void late(Acquire library, String name, Duration lease) throws InterruptedException {
    Runnable unlock;
    try {
      unlock = library.acquire(name, lease);
    } catch (RuntimeException refused) {
      say("acquire throws", refused);
      return;
    }
    System.out.println("inside");
    new Scanner(System.in).nextLine();
    try {
      unlock.run();
      System.out.println("says nothing");
    } catch (RuntimeException error) {
      say("throws", error);
    }
  }

  private static void say(String what, RuntimeException error) {
    System.out.println(what + " " + error.getClass().getSimpleName() + ": " + error.getMessage());
  }
}
