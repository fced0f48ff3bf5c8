package oracle;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Answers questions with Kafka's own classes, one class loader a release, until stdin ends.
 *
 * A frame is a length and that many bytes. A request holds words (command, release, more) and cases; an answer holds a flag
 * (0: answered) and as many cases. Lists, cases and fields are counted by an int before them; a field of length -1 is null.
 * Frames are read ahead, so that whoever asks may send the next one before it has read the answer to the last.
 */
public final class Oracle {
    private static final byte[] END = {};

    private final Map<String, Release> releases = new HashMap<>();
    private final Map<List<String>, Question> questions = new HashMap<>();

    public static void main(String[] none) throws Exception {
        BlockingQueue<byte[]> requests = new LinkedBlockingQueue<>();
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 20));
        Speech.install();
        Thread reader = new Thread(() -> read(requests), "reader");
        reader.setDaemon(true);
        reader.start();
        Oracle oracle = new Oracle();
        for (byte[] request = requests.take(); request != END; request = requests.take()) {
            byte[] answer = oracle.answer(request);
            out.writeInt(answer.length);
            out.write(answer);
            out.flush();
        }
    }

    private static void read(BlockingQueue<byte[]> requests) {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(FileDescriptor.in), 1 << 20))) {
            while (true) {
                byte[] request = new byte[in.readInt()];
                in.readFully(request);
                requests.add(request);
            }
        } catch (EOFException end) {
            requests.add(END);
        } catch (IOException broken) {
            broken.printStackTrace();
            requests.add(END);
        }
    }

    private byte[] answer(byte[] request) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(request.length);
        DataOutputStream out = new DataOutputStream(bytes);
        try {
            DataInputStream in = new DataInputStream(new ByteArrayInputStream(request));
            List<String> words = Arrays.stream(fields(in)).map(word -> new String(word, StandardCharsets.UTF_8)).toList();
            Question question = question(words);
            int cases = in.readInt();
            out.writeByte(0);
            out.writeInt(cases);
            for (int i = 0; i < cases; i++) write(out, question.ask(fields(in)));
        } catch (Throwable unanswerable) {
            bytes.reset();
            out.writeByte(1);
            out.writeInt(1);
            write(out, failure(unanswerable, 2));
        }
        return bytes.toByteArray();
    }

    private Question question(List<String> words) throws Exception {
        if (words.get(0).equals("release")) {
            releases.put(words.get(1), new Release(words.subList(2, words.size()).toArray(new String[0])));
            return given -> given;
        }
        Question known = questions.get(words);
        Release release = releases.get(words.get(1));
        Thread.currentThread().setContextClassLoader(release.loader);
        if (known == null) {
            known = made(words, release);
            questions.put(words, known);
        }
        return known;
    }

    private static Question made(List<String> words, Release release) throws Exception {
        return switch (words.get(0)) {
            case "serde" -> new Serde(release);
            case "encode" -> new Encode(release);
            case "formatter" -> new Formatter(release, words.get(2));
            case "dumplog" -> new DumpLog(release);
            case "load" -> new Load(release);
            case "load-classic" -> new LoadClassic(release);
            case "assign" -> new Assign(release, words.get(2));
            case "assign-target" -> new AssignTarget(release, words.get(2));
            case "batches" -> newest(release, "Batches");
            case "pace" -> newest(release, "Pace");
            case "clean" -> newest(release, "Clean");
            case "build" -> newest(release, "Build");
            case "reset-plan" -> newest(release, "ResetPlan");
            case "blob" -> newest(release, "Blob", words.get(2));
            default -> throw new IllegalArgumentException("no such question: " + words.get(0));
        };
    }

    /** Questions written against one release's types, not by reflection; they live in that release's class loader. */
    private static Question newest(Release release, String name, String... with) throws Exception {
        Class<?>[] types = new Class<?>[with.length];
        Arrays.fill(types, String.class);
        return (Question) release.find("oracle.newest." + name).getConstructor(types).newInstance((Object[]) with);
    }

    /** Class and message of what was thrown, as the first two of `size` fields. */
    public static byte[][] failure(Throwable thrown, int size) {
        Throwable cause = Release.cause(thrown);
        byte[][] fields = new byte[size][];
        fields[0] = Serde.bytes(cause.getClass().getName());
        fields[1] = cause.getMessage() == null ? null : Serde.bytes(cause.getMessage());
        return fields;
    }

    private static byte[][] fields(DataInputStream in) throws IOException {
        byte[][] fields = new byte[in.readInt()][];
        for (int i = 0; i < fields.length; i++) {
            int length = in.readInt();
            fields[i] = length < 0 ? null : in.readNBytes(length);
        }
        return fields;
    }

    private static void write(DataOutputStream out, byte[][] fields) throws IOException {
        out.writeInt(fields.length);
        for (byte[] field : fields) {
            out.writeInt(field == null ? -1 : field.length);
            if (field != null) out.write(field);
        }
    }
}
