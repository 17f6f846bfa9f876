package holdfast.interop;

import java.util.Collection;
import java.util.Map;
import java.util.stream.Collectors;

/** As much of JSON as the answers need. */
final class Json {
  private Json() {}

  static String of(Object value) {
    if (value instanceof Map<?, ?> map) {
      return map.entrySet().stream()
          .map(entry -> quoted(String.valueOf(entry.getKey())) + ":" + of(entry.getValue()))
          .collect(Collectors.joining(",", "{", "}"));
    }
    if (value instanceof Collection<?> list) {
      return list.stream().map(Json::of).collect(Collectors.joining(",", "[", "]"));
    }
    return value == null || value instanceof Number || value instanceof Boolean
        ? String.valueOf(value)
        : quoted(String.valueOf(value));
  }

  private static String quoted(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ') {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }
}
