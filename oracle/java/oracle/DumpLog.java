package oracle;

import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;

/** kafka-dump-log with the given arguments: to exception, message, stdout, stderr, exit status (null: it returned). */
final class DumpLog implements Question {
    private final Method main;

    DumpLog(Release release) throws Exception {
        release.forbidExit();
        main = release.find("kafka.tools.DumpLogSegments", "org.apache.kafka.tools.DumpLogSegments").getMethod("main", String[].class);
    }

    @Override
    public byte[][] ask(byte[][] given) {
        String[] arguments = new String[given.length];
        for (int i = 0; i < given.length; i++) arguments[i] = new String(given[i], StandardCharsets.UTF_8);
        Speech.Heard heard = Speech.listen(() -> main.invoke(null, (Object) arguments));
        byte[][] answer = new byte[5][];
        if (heard.thrown() instanceof Release.Exited exited) {
            answer[4] = Serde.bytes(Integer.toString(exited.status));
        } else if (heard.thrown() != null) {
            answer = Oracle.failure(heard.thrown(), 5);
        }
        answer[2] = heard.out();
        answer[3] = heard.err();
        return answer;
    }
}
