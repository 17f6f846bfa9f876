package holdfast.interop;

import org.redisson.config.NameMapper;

/** Puts every name behind a prefix, as ioredis's keyPrefix does. */
record PrefixMapper(String prefix) implements NameMapper {
  @Override
  public String map(String name) {
    return prefix + name;
  }

  @Override
  public String unmap(String name) {
    return name.substring(prefix.length());
  }
}
