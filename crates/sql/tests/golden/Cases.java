import java.nio.file.*; import java.util.*;
import org.apache.flink.table.api.*;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.CloseableIterator;
/** Reads blocks "@@case NAME MODE ZONE" followed by statements separated by lines "@@;" and writes the folded rows. */
public class Cases {
  static String show(Object v) {
    if (v == null) return "NULL";
    if (v instanceof java.time.LocalDateTime) { String s = v.toString().replace('T', ' '); return fix(s); }
    if (v instanceof java.time.Instant) { String s = java.time.LocalDateTime.ofInstant((java.time.Instant) v, java.time.ZoneOffset.UTC).toString().replace('T', ' '); return fix(s); }
    if (v instanceof java.time.LocalTime) { String s = v.toString(); return s.length() == 5 ? s + ":00" : s; }
    if (v instanceof Object[]) { StringBuilder b = new StringBuilder("["); int i = 0; for (Object o : (Object[]) v) b.append(i++ == 0 ? "" : ", ").append(show(o)); return b + "]"; }
    if (v instanceof Map) { TreeMap<String,String> m = new TreeMap<>(); for (Map.Entry<?,?> e : ((Map<?,?>) v).entrySet()) m.put(show(e.getKey()), show(e.getValue())); StringBuilder b = new StringBuilder("{"); int i = 0; for (var e : m.entrySet()) b.append(i++ == 0 ? "" : ", ").append(e.getKey()).append(": ").append(e.getValue()); return b + "}"; }
    if (v instanceof java.math.BigDecimal) return ((java.math.BigDecimal) v).toPlainString();
    return String.valueOf(v).trim();
  }
  static String fix(String s) { int c = s.indexOf(' '); String t = s.substring(c + 1); if (t.length() == 5) s += ":00"; return s; }
  public static void main(String[] a) throws Exception {
    List<String> lines = Files.readAllLines(Path.of(a[0]));
    StringBuilder cur = new StringBuilder(); String head = null; List<String[]> cases = new ArrayList<>();
    for (String l : lines) { if (l.startsWith("@@case ")) { if (head != null) cases.add(new String[]{head, cur.toString()}); head = l.substring(7); cur = new StringBuilder(); } else cur.append(l).append("\n"); }
    if (head != null) cases.add(new String[]{head, cur.toString()});
    java.io.PrintStream out = new java.io.PrintStream(a[1], "UTF-8");
    for (String[] c : cases) {
      String[] h = c[0].split(" ");
      out.println("@@case " + h[0]);
      try {
        EnvironmentSettings s = h[1].equals("batch") ? EnvironmentSettings.newInstance().inBatchMode().build() : EnvironmentSettings.newInstance().inStreamingMode().build();
        TableEnvironment t = TableEnvironment.create(s);
        t.getConfig().set("table.local-time-zone", h[2]); t.getConfig().set("parallelism.default", "1");
        t.getConfig().set("pipeline.auto-watermark-interval", h[3].equals("single") ? "0 ms" : "1000000 d");
        String[] st = c[1].split("\n@@;\n");
        for (int i = 0; i < st.length; i++) {
          if (st[i].isBlank()) continue;
          TableResult r = t.executeSql(st[i]);
          if (st[i].stripLeading().toUpperCase().startsWith("INSERT")) r.await();
          if (i == st.length - 1) {
            List<String> rows = new ArrayList<>();
            try (CloseableIterator<Row> it = r.collect()) { while (it.hasNext()) { Row row = it.next(); StringBuilder b = new StringBuilder(); for (int k = 0; k < row.getArity(); k++) b.append(k == 0 ? "" : " | ").append(show(row.getField(k)));
              if (row.getKind() == RowKind.INSERT || row.getKind() == RowKind.UPDATE_AFTER) rows.add(b.toString()); else rows.remove(b.toString()); } }
            for (String r2 : rows) out.println(r2);
          }
        }
      } catch (Throwable e) { StringBuilder m = new StringBuilder(); for (Throwable x = e; x != null && x.getCause() != x; x = x.getCause()) m.append(String.valueOf(x.getMessage()).split("\n")[0]).append(" <- "); out.println("@@error " + m); }
      out.flush();
    }
    System.exit(0);
  }
}
