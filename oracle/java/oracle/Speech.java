package oracle;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** System.out and System.err, made to be listened to: Scala's Console keeps the stream it met first, so the stream must stay. */
final class Speech extends OutputStream {
    private static final Speech OUT = new Speech(System.err);
    private static final Speech ERR = new Speech(System.err);

    private OutputStream listener;
    private final OutputStream otherwise;

    private Speech(OutputStream otherwise) {
        this.otherwise = otherwise;
        this.listener = otherwise;
    }

    static void install() {
        System.setOut(new PrintStream(OUT, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(ERR, true, StandardCharsets.UTF_8));
    }

    interface Act {
        void run() throws Exception;
    }

    /** What was said on stdout and stderr, and what was thrown (null if nothing), while `act` ran. */
    record Heard(byte[] out, byte[] err, Throwable thrown) {}

    static Heard listen(Act act) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        OUT.listener = out;
        ERR.listener = err;
        Throwable thrown = null;
        try {
            act.run();
        } catch (Throwable any) {
            thrown = Release.cause(any);
        } finally {
            System.out.flush();
            System.err.flush();
            OUT.listener = OUT.otherwise;
            ERR.listener = ERR.otherwise;
        }
        return new Heard(out.toByteArray(), err.toByteArray(), thrown);
    }

    @Override
    public void write(int one) throws java.io.IOException {
        listener.write(one);
    }

    @Override
    public void write(byte[] some, int from, int length) throws java.io.IOException {
        listener.write(some, from, length);
    }

    @Override
    public void flush() throws java.io.IOException {
        listener.flush();
    }
}
