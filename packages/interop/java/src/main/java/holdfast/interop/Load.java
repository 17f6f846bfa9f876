package holdfast.interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Many threads that take and release locks, and what it costs this process. */
final class Load {
  private static final OperatingSystemMXBean PROCESS =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private final RedissonClient redisson;

  Load(RedissonClient redisson) {
    this.redisson = redisson;
  }

  /** Options: {@code flows}, {@code forMs}, {@code names}: {@code own} for each flow, or {@code one} for all. */
  Map<String, Object> run(Command command) throws Exception {
    int flows = (int) command.number("flows", 1);
    boolean own = command.options().get("names").equals("own");
    double cpuBefore = cpuMs();
    long startedAt = System.nanoTime();
    long endsAt = startedAt + MILLISECONDS.toNanos(command.number("forMs", 1_000));
    ExecutorService threads = Executors.newFixedThreadPool(flows);
    List<Future<Long>> counts = new ArrayList<>();
    for (int i = 0; i < flows; i++) {
      RLock lock = redisson.getLock(own ? command.name() + ":" + i : command.name());
      counts.add(threads.submit(() -> flow(lock, endsAt)));
    }
    long pairs = 0;
    for (Future<Long> count : counts) {
      pairs += count.get();
    }
    threads.shutdown();
    return Map.of("pairs", pairs, "ms", (System.nanoTime() - startedAt) / 1e6, "cpuMs", cpuMs() - cpuBefore);
  }

  /** Callers that want what they do not get: what waiting costs. Options: {@code flows}, {@code forMs}. */
  Map<String, Object> wait(Command command) throws Exception {
    int flows = (int) command.number("flows", 1);
    long forMs = command.number("forMs", 1_000);
    ExecutorService threads = Executors.newFixedThreadPool(flows);
    double cpuBefore = cpuMs();
    List<Future<Boolean>> waits = new ArrayList<>();
    for (int i = 0; i < flows; i++) {
      waits.add(threads.submit(() -> redisson.getLock(command.name()).tryLock(forMs, MILLISECONDS)));
    }
    for (Future<Boolean> wait : waits) {
      wait.get();
    }
    threads.shutdown();
    return Map.of("cpuMs", cpuMs() - cpuBefore);
  }

  private static long flow(RLock lock, long endsAt) {
    long pairs = 0;
    while (System.nanoTime() < endsAt) {
      lock.lock();
      lock.unlock();
      pairs++;
    }
    return pairs;
  }

  private static double cpuMs() {
    return PROCESS.getProcessCpuTime() / 1e6;
  }
}
