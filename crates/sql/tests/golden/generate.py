#!/usr/bin/env python3
"""Fills in the expectations of the golden cases from other engines.

    generate.py [--all] [--flink COMMAND] [FILE.cases ...]

Cases with `from: duckdb` are run by DuckDB (`pip install duckdb`) over the folded input tables; those with `from: flink` by
Flink: COMMAND is called with a script and the path of its output (Cases.java, compiled against Flink's jars, is what reads the
one and writes the other). Cases of any other source are left alone, and so are those that have an expectation, unless `--all`
is given. The same files give the same expectations.
"""
import datetime, decimal, json, os, re, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def cells(line):
    return [c.strip() for c in line.split('|')]


def split_columns(text):
    out, depth, cur, quoted = [], 0, '', False
    for c in text:
        quoted ^= c in "'`"
        depth += (c in '(<') - (c in ')>') if not quoted else 0
        if c == ',' and depth == 0:
            out.append(cur.strip())
            cur = ''
        else:
            cur += c
    return [c for c in out + [cur.strip()] if c]


class Table:
    def __init__(self, head, lines):
        words = head.split()
        self.name, self.mode = words[0], words[1] if len(words) > 1 else 'append'
        self.single = len(words) > 2
        self.columns = ' '.join(l.strip() for l in lines if l.startswith('  '))
        self.rows = []
        for line in lines:
            if line.startswith('  '):
                continue
            row = cells(line)
            kind = row.pop(0) if row[0] in ('+I', '-U', '+U', '-D') else '+I'
            self.rows.append((kind, [None if c == 'NULL' else c for c in row]))
        self.physical, self.key = [], []
        for column in split_columns(self.columns):
            if re.match(r'(?i)watermark\s', column):
                continue
            key = re.match(r'(?i)primary key\s*\(([^)]*)\)', column)
            if key:
                self.key = [k.strip() for k in key.group(1).split(',')]
                continue
            name, rest = column.split(None, 1)
            if re.match(r'(?i)as\s', rest):
                continue
            self.physical.append((name.strip('`'), re.sub(r'(?i)\s+NOT NULL', '', rest)))

    def retracting(self):
        """The changes with all old rows."""
        if self.mode != 'upsert':
            return self.rows
        at = [[n for n, _ in self.physical].index(k) for k in self.key]
        now, out = {}, []
        for kind, row in self.rows:
            key = tuple(row[i] for i in at)
            old = now.get(key)
            if kind == '-D':
                if old is not None:
                    # As it was deleted: its event time is that of the deletion.
                    out.append(('-D', row))
                    del now[key]
                continue
            if old is not None:
                out += [('-U', old), ('+U', row)]
            else:
                out.append(('+I', row))
            now[key] = row
        return out

    def folded(self):
        if self.mode == 'upsert':
            at = [[n for n, _ in self.physical].index(k) for k in self.key]
            now = {}
            for kind, row in self.rows:
                key = tuple(row[i] for i in at)
                now.pop(key, None)
                if kind != '-D':
                    now[key] = row
            return list(now.values())
        rows = []
        for kind, row in self.retracting():
            if kind in ('+I', '+U'):
                rows.append(row)
            else:
                rows.remove(row)
        return rows

    def typed(self, row):
        out = {}
        for (name, t), cell in zip(self.physical, row):
            if cell is None:
                out[name] = None
            elif re.match(r'(?i)(TINYINT|SMALLINT|INT|BIGINT)', t):
                out[name] = int(cell)
            elif re.match(r'(?i)(DOUBLE|FLOAT)', t):
                out[name] = float(cell)
            elif re.match(r'(?i)DECIMAL', t):
                out[name] = decimal.Decimal(cell)
            elif re.match(r'(?i)BOOLEAN', t):
                out[name] = cell == 'true'
            elif re.match(r'(?i)TIMESTAMP_LTZ', t):
                out[name] = cell + ('' if '.' in cell else '.0') + 'Z'
            else:
                out[name] = cell
        return out


class Case:
    pass


def parse(path):
    """Sections of a file: its lines, and the cases with the places of their expectations."""
    lines = open(path).read().split('\n')
    tables, files, setups, zone, cases, i = {}, {}, [], 'UTC', [], 0

    def section(i):
        j = i
        while j < len(lines) and lines[j].strip():
            j += 1
        return lines[i:j], j

    while i < len(lines):
        word, _, rest = lines[i].partition(' ')
        i += 1
        if word == 'zone':
            zone = rest.strip()
        elif word == 'table':
            body, i = section(i)
            table = Table(rest, body)
            tables[table.name] = table
        elif word == 'file':
            body, i = section(i)
            files[rest] = '\n'.join(body) + '\n'
        elif word == 'setup':
            body, i = section(i)
            setups.append('\n'.join(body))
        elif word == 'case':
            case = Case()
            case.name, case.zone, case.source, case.ordered, case.error = rest, zone, '', False, False
            query, oracle, into = [], [], None
            into = query
            while True:
                line = lines[i]
                i += 1
                head, _, value = line.partition(': ')
                if head == 'from' and not query:
                    case.source = value
                elif head in ('known', 'only') and not query:
                    pass
                elif head == 'zone' and not query:
                    case.zone = value
                elif line == 'ordered':
                    case.ordered = True
                elif line == 'oracle':
                    into = oracle
                elif line == 'expect':
                    break
                elif line.startswith('expect error'):
                    case.error = True
                    break
                else:
                    into.append(line)
            case.query = '\n'.join(query)
            case.oracle = '\n'.join(oracle) if oracle else None
            case.start = i
            rows, i = section(i)
            case.end = i
            case.empty = not rows
            words = set(re.split(r'\W+', case.query + ' ' + (case.oracle or '')))
            case.setups = []
            for setup in reversed(setups):
                if setup.split()[2].strip('(;') in words:
                    case.setups.insert(0, setup)
                    words |= set(re.split(r'\W+', setup))
            case.tables = [t for t in tables.values() if t.name in words]
            case.files = dict(files)
            cases.append(case)
    return lines, cases


def show(v):
    if v is None:
        return 'NULL'
    if isinstance(v, bool):
        return 'true' if v else 'false'
    if isinstance(v, datetime.datetime):
        text = v.strftime('%Y-%m-%d %H:%M:%S')
        if v.microsecond:
            text += ('.%03d' % (v.microsecond // 1000)) if v.microsecond % 1000 == 0 else '.%06d' % v.microsecond
        return text
    if isinstance(v, list):
        return '[' + ', '.join(show(x) for x in v) + ']'
    if isinstance(v, decimal.Decimal):
        return format(v, 'f')
    return str(v).strip()


DUCK = [(r'(?i)\bSTRING\b', 'VARCHAR'), (r'(?i)TIMESTAMP(_LTZ)?\(\d\)', 'TIMESTAMP'), (r'(?i)\bBYTES\b', 'BLOB')]


def duck_text(sql):
    for pattern, to in DUCK:
        sql = re.sub(pattern, to, sql)
    return sql


def duckdb_rows(case):
    import duckdb
    con = duckdb.connect()
    con.execute("SET default_null_order='nulls_first_on_asc_last_on_desc'; SET threads=1; SET TimeZone='UTC'")
    for table in case.tables:
        columns = ', '.join(f'"{n}" {duck_text(t)}' for n, t in table.physical)
        con.execute(f'CREATE TABLE {table.name} ({columns})')
        for row in table.folded():
            con.execute(f'INSERT INTO {table.name} VALUES ({", ".join("?" * len(row))})', row)
    for setup in case.setups:
        con.execute(duck_text(setup))
    rows = con.execute(duck_text(case.oracle or case.query)).fetchall()
    return [' | '.join(show(v) for v in row) for row in rows]


def flink_script(name, case, folder):
    statements = []
    os.makedirs(folder, exist_ok=True)
    for n, text in case.files.items():
        open(os.path.join(folder, n), 'w').write(text)
    for table in case.tables:
        path = os.path.join(folder, table.name + '.json')
        with open(path, 'w') as out:
            rows, k = table.retracting(), 0
            dump = lambda row: table.typed(row)
            default = lambda d: float(d)
            while k < len(rows):
                kind, row = rows[k]
                if table.mode == 'append':
                    event = dump(row)
                elif kind == '-U' and k + 1 < len(rows) and rows[k + 1][0] == '+U':
                    event = {'op': 'u', 'before': dump(row), 'after': dump(rows[k + 1][1])}
                    k += 1
                elif kind in ('-U', '-D'):
                    event = {'op': 'd', 'before': dump(row), 'after': None}
                else:
                    event = {'op': 'c', 'before': None, 'after': dump(row)}
                out.write(json.dumps(event, default=default) + '\n')
                k += 1
        form = 'json' if table.mode == 'append' else 'debezium-json'
        statements.append(
            f"CREATE TABLE {table.name} ({table.columns}) WITH ('connector'='filesystem', 'path'='{path}', "
            f"'format'='{form}', '{form}.timestamp-format.standard'='SQL')")
    statements += [s.replace('{dir}', folder) for s in case.setups]
    script = (case.oracle or case.query).replace('{dir}', folder)
    statements += [s for s in re.split(r';\s*\n', script) if s.strip()]
    mode = 'batch' if case.ordered else 'streaming'
    pace = 'single' if any(t.single for t in case.tables) else 'bundle'
    return f'@@case {name} {mode} {case.zone} {pace}\n' + '\n@@;\n'.join(s.rstrip(';\n ') for s in statements) + '\n'


def flink_rows(command, wanted):
    if not wanted:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        script, out = os.path.join(folder, 'in'), os.path.join(folder, 'out')
        with open(script, 'w') as f:
            for n, case in enumerate(wanted):
                f.write(flink_script(str(n), case, os.path.join(folder, f'case{n}')))
        subprocess.run([*command.split(), script, out], check=False)
        found, now = {}, None
        for line in open(out).read().split('\n')[:-1]:
            if line.startswith('@@case '):
                now = found.setdefault(int(line[7:]), [])
            elif line.startswith('@@error '):
                found[int(list(found)[-1])] = None
                print(wanted[list(found)[-1]].name, 'FLINK:', line[8:500])
            else:
                now.append(line)
        return {wanted[n].name: rows for n, rows in found.items()}


def main():
    args = sys.argv[1:]
    redo = '--all' in args
    command = None
    if '--flink' in args:
        at = args.index('--flink')
        command = args[at + 1]
        del args[at:at + 2]
    files = [a for a in args if not a.startswith('--')]
    files = files or sorted(os.path.join(HERE, f) for f in os.listdir(HERE) if f.endswith('.cases'))
    parsed = {path: parse(path) for path in files}
    open_ = lambda c, source: c.source.split(' ')[0] == source and not c.error and (redo or c.empty)
    answers = {}
    if command:
        wanted = []
        for path, (_, cases) in parsed.items():
            for case in cases:
                if open_(case, 'flink'):
                    case.name = path + '/' + case.name
                    wanted.append(case)
        answers = flink_rows(command, wanted)
    for path, (lines, cases) in parsed.items():
        for case in reversed(cases):
            rows = None
            if open_(case, 'duckdb'):
                try:
                    rows = duckdb_rows(case)
                except Exception as e:
                    print(case.name, 'DUCKDB:', e)
            elif case.name in answers:
                rows = answers[case.name]
            if rows is not None:
                lines[case.start:case.end] = rows if case.ordered else sorted(rows)
        open(path, 'w').write('\n'.join(lines))


main()
