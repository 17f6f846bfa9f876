package holdfast.interop;

import java.util.HashMap;
import java.util.Map;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * The command line: {@code --address redis://127.0.0.1:6379 [--cluster true] [--watchdog 30000] [--fair-wait 300000]
 * [--prefix p:]}.
 */
record Settings(Map<String, String> given) {
  static Settings parse(String[] args) {
    Map<String, String> given = new HashMap<>();
    for (int i = 0; i + 1 < args.length; i += 2) {
      given.put(args[i], args[i + 1]);
    }
    return new Settings(given);
  }

  RedissonClient connect() {
    Config config = new Config();
    config.setLockWatchdogTimeout(number("--watchdog", config.getLockWatchdogTimeout()));
    if (given.containsKey("--fair-wait")) {
      Versions.setFairLockWaitTimeout(config, number("--fair-wait", 0));
    }
    Object servers = given.containsKey("--cluster")
        ? config.useClusterServers().addNodeAddress(given.get("--address"))
        : config.useSingleServer().setAddress(given.get("--address"));
    if (given.containsKey("--prefix")) {
      Versions.setPrefix(servers, given.get("--prefix"));
    }
    return Redisson.create(config);
  }

  private long number(String key, long otherwise) {
    return given.containsKey(key) ? Long.parseLong(given.get(key)) : otherwise;
  }
}
