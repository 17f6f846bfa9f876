package holdfast.interop;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** What Redisson 3.23 does not have, or has elsewhere, by reflection: one source compiles with each version. */
final class Versions {
  private Versions() {}

  /** Since 3.46. */
  static void setFairLockWaitTimeout(Config config, long ms) {
    call(config, Config.class, "setFairLockWaitTimeout", long.class, ms);
  }

  /** Since 4.6. */
  static RLock getNonReentrantLock(RedissonClient redisson, String name) {
    return (RLock) call(redisson, RedissonClient.class, "getNonReentrantLock", String.class, name);
  }

  /** Puts every name behind a prefix, as ioredis's keyPrefix does. NameMapper is in org.redisson.api up to 3.52. */
  static void setPrefix(Object servers, String prefix) {
    Class<?> type = firstOf("org.redisson.config.NameMapper", "org.redisson.api.NameMapper");
    InvocationHandler handler = (mapper, method, args) -> switch (method.getName()) {
      case "map" -> prefix + args[0];
      case "unmap" -> ((String) args[0]).substring(prefix.length());
      case "equals" -> mapper == args[0];
      case "hashCode" -> System.identityHashCode(mapper);
      default -> "names behind " + prefix;
    };
    Object mapper = Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler);
    call(servers, servers.getClass(), "setNameMapper", type, mapper);
  }

  private static Class<?> firstOf(String... names) {
    for (String name : names) {
      try {
        return Class.forName(name);
      } catch (ClassNotFoundException error) {
        // The next, then.
      }
    }
    throw new IllegalStateException("Redisson has none of " + String.join(", ", names));
  }

  private static Object call(Object target, Class<?> type, String name, Class<?> parameter, Object argument) {
    try {
      Method method = type.getMethod(name, parameter);
      // The class that declares it may not be public.
      method.setAccessible(true);
      return method.invoke(target, argument);
    } catch (InvocationTargetException error) {
      throw new IllegalStateException(error.getCause());
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException("This Redisson has no " + type.getSimpleName() + "." + name, error);
    }
  }
}
