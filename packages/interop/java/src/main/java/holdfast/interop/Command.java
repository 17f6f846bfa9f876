package holdfast.interop;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** One line of input. */
record Command(long id, String thread, String verb, String kind, String name, Map<String, String> options) {
  static Command parse(String line) {
    String[] words = line.split(" ");
    Map<String, String> options = new HashMap<>();
    for (int i = 5; i < words.length; i++) {
      String[] pair = words[i].split("=", 2);
      options.put(pair[0], decode(pair[1]));
    }
    return new Command(Long.parseLong(words[0]), words[1], words[2], words[3], decode(words[4]), options);
  }

  /** Null when it was not given. */
  Long number(String key) {
    String text = options.get(key);
    return text == null ? null : Long.valueOf(text);
  }

  long number(String key, long otherwise) {
    Long given = number(key);
    return given == null ? otherwise : given;
  }

  private static String decode(String text) {
    return URLDecoder.decode(text, StandardCharsets.UTF_8);
  }
}
