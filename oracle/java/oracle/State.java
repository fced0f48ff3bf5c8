package oracle;

import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * Any of Kafka's objects as JSON, by its fields, so that one reader serves every release.
 *
 * Maps and objects become objects (a map's keys by their toString), collections lists, bytes hex; enums, uuids and Scala's case
 * objects what their toString says. What is a tool and not state (clocks, locks, loggers, callbacks) is left out.
 */
final class State {
    private static final List<String> TOOLS = List.of(
        "org.slf4j.", "com.typesafe.", "java.util.concurrent.", "org.apache.kafka.common.utils.LogContext",
        "org.apache.kafka.common.utils.Time", "org.apache.kafka.timeline.SnapshotRegistry", "scala.Function",
        "org.apache.kafka.coordinator.group.metrics.", "kafka.utils.", "org.apache.kafka.image.");

    private final StringBuilder json = new StringBuilder();

    static String json(Object held) throws Exception {
        State state = new State();
        state.write(held);
        return state.json.toString();
    }

    /** A field by its name, in the object's class or above it; of Scala's mangled names the last part counts. */
    static Object field(Object holder, String name) throws Exception {
        for (Field field : fields(holder.getClass())) {
            if (named(field).equals(name)) return field.get(holder);
        }
        throw new NoSuchFieldException(holder.getClass().getName() + "." + name);
    }

    private void write(Object held) throws Exception {
        if (held == null || held == Optional.empty()) json.append("null");
        else if (held instanceof Number || held instanceof Boolean) json.append(held);
        else if (held instanceof String || held instanceof Enum<?> || plain(held)) text(held.toString());
        else if (held instanceof byte[] bytes) text(HexFormat.of().formatHex(bytes));
        else if (held instanceof Optional<?> some) write(some.get());
        else if (held instanceof OptionalInt some) json.append(some.isPresent() ? some.getAsInt() : null);
        else if (held instanceof OptionalLong some) json.append(some.isPresent() ? some.getAsLong() : null);
        else if (held instanceof Map<?, ?> map) map(map);
        else if (held instanceof Iterable<?> some) list(some);
        else if (timeline(held)) write(call(held, "get"));
        else if (is(held, "scala.Option")) write((boolean) call(held, "isEmpty") ? null : call(held, "get"));
        else if (is(held, "scala.collection.Map")) pairs(scala(held));
        else if (is(held, "scala.Tuple2")) list(List.of(call(held, "_1"), call(held, "_2")));
        else if (is(held, "scala.collection.Iterable")) list(scala(held));
        else object(held);
    }

    private static boolean plain(Object held) {
        String type = held.getClass().getName();
        return type.equals("org.apache.kafka.common.Uuid") || type.equals("org.apache.kafka.common.TopicPartition")
            || (type.endsWith("$") && is(held, "scala.Product") && !is(held, "scala.collection.Iterable") && !is(held, "scala.Option"));
    }

    private static boolean timeline(Object held) {
        return List.of("TimelineObject", "TimelineInteger", "TimelineLong").contains(held.getClass().getSimpleName());
    }

    private static Iterable<Object> scala(Object held) throws Exception {
        List<Object> found = new ArrayList<>();
        Object iterator = call(held, "iterator");
        while ((boolean) call(iterator, "hasNext")) found.add(call(iterator, "next"));
        return found;
    }

    private void map(Map<?, ?> map) throws Exception {
        List<Object> members = new ArrayList<>();
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            members.add(entry.getKey());
            members.add(entry.getValue());
        }
        members(members);
    }

    private void pairs(Iterable<Object> tuples) throws Exception {
        List<Object> members = new ArrayList<>();
        for (Object tuple : tuples) {
            members.add(call(tuple, "_1"));
            members.add(call(tuple, "_2"));
        }
        members(members);
    }

    private void object(Object held) throws Exception {
        List<Object> members = new ArrayList<>();
        members.add("class");
        members.add(held.getClass().getSimpleName());
        for (Field field : fields(held.getClass())) {
            if (tool(field)) continue;
            members.add(named(field));
            members.add(field.get(held));
        }
        members(members);
    }

    /** Names and values by turns. */
    private void members(List<Object> members) throws Exception {
        json.append('{');
        for (int i = 0; i < members.size(); i += 2) {
            if (i > 0) json.append(',');
            text(String.valueOf(members.get(i)));
            json.append(':');
            write(members.get(i + 1));
        }
        json.append('}');
    }

    private void list(Iterable<?> some) throws Exception {
        json.append('[');
        String between = "";
        for (Object each : some) {
            json.append(between);
            write(each);
            between = ",";
        }
        json.append(']');
    }

    private void text(String text) {
        json.append('"');
        for (char each : text.toCharArray()) {
            if (each >= 0x20 && each < 0x7f && each != '"' && each != '\\') json.append(each);
            else json.append(String.format("\\u%04x", (int) each));
        }
        json.append('"');
    }

    private static boolean tool(Field field) {
        String type = field.getType().getName();
        return field.getName().startsWith("this$") || field.getName().startsWith("bitmap$") || TOOLS.stream().anyMatch(type::startsWith);
    }

    private static List<Field> fields(Class<?> type) {
        List<Field> found = new ArrayList<>();
        for (Class<?> each = type; each != null && each != Object.class; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers())) found.add(field);
            }
        }
        AccessibleObject.setAccessible(found.toArray(new Field[0]), true);
        return found;
    }

    private static String named(Field field) {
        return field.getName().substring(field.getName().lastIndexOf('$') + 1);
    }

    /** Whether the object is an instance of a class that is known by name only. */
    private static boolean is(Object held, String name) {
        try {
            return Class.forName(name, false, held.getClass().getClassLoader()).isInstance(held);
        } catch (ClassNotFoundException absent) {
            return false;
        }
    }

    /** A public method without parameters, or with the given ones. */
    static Object call(Object on, String name, Object... with) throws Exception {
        for (Method method : on.getClass().getMethods()) {
            if (!method.getName().equals(name) || method.getParameterCount() != with.length || method.isBridge()) continue;
            method.setAccessible(true);
            return method.invoke(on, with);
        }
        throw new NoSuchMethodException(on.getClass().getName() + "." + name);
    }
}
