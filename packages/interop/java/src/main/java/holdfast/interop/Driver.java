package holdfast.interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.redisson.api.RedissonClient;

/**
 * Redisson by remote control: one command per line on standard input, one JSON line per answer.
 *
 * <pre>
 *   id thread verb kind name [key=value ...]        12 7 lock fair order%3A42 lease=10000
 *   {"id":12,"value":null,"from":81.1,"to":82.4}    {"id":12,"error":"IllegalMonitorStateException","message":"..."}
 * </pre>
 *
 * {@code from} and {@code to} are milliseconds of the clock that all processes of the machine share.
 *
 * Names are URL-encoded. Each thread number is one Java thread, so that it re-enters what it holds; the commands of one
 * thread run one after another, those of different threads side by side.
 */
public final class Driver {
  private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();
  private final Map<String, Thread> running = new ConcurrentHashMap<>();
  private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
  private final Verbs verbs;

  private Driver(RedissonClient redisson) {
    this.verbs = new Verbs(redisson);
  }

  public static void main(String[] args) throws IOException {
    RedissonClient redisson = Settings.parse(args).connect();
    new Driver(redisson).serve();
    redisson.shutdown();
    // A thread that still waits for a lock must not keep the process.
    System.exit(0);
  }

  private void serve() throws IOException {
    answer(Map.of("ready", true));
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      Command command = Command.parse(line);
      if (command.verb().equals("interrupt")) {
        running.getOrDefault(command.thread(), new Thread()).interrupt();
        answer(Map.of("id", command.id()));
      } else {
        threads.computeIfAbsent(command.thread(), Driver::newThread).execute(() -> run(command));
      }
    }
  }

  private static ExecutorService newThread(String name) {
    return Executors.newSingleThreadExecutor(task -> {
      Thread thread = new Thread(task, "caller-" + name);
      thread.setDaemon(true);
      return thread;
    });
  }

  private void run(Command command) {
    running.put(command.thread(), Thread.currentThread());
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("id", command.id());
    answer.put("from", nowMs());
    try {
      answer.put("value", verbs.run(command));
    } catch (Exception error) {
      answer.put("error", error.getClass().getSimpleName());
      answer.put("message", String.valueOf(error.getMessage()));
    }
    answer.put("to", nowMs());
    running.remove(command.thread());
    answer(answer);
  }

  private static double nowMs() {
    return System.nanoTime() / 1e6;
  }

  private void answer(Map<String, Object> answer) {
    synchronized (out) {
      out.println(Json.of(answer));
    }
  }
}
