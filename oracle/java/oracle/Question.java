package oracle;

/** One kind of question: fields in, fields out, a null field being what Kafka calls null. */
public interface Question {
    byte[][] ask(byte[][] given) throws Exception;
}
