// Microsoft's parser on queries: { tables: { name: { column: type } }, queries: { name: text } } comes in as JSON, and
// for each query its problems and the types of its result's columns go out.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
require("@kusto/language-service-next/bridge.min.js");
require("@kusto/language-service-next/Kusto.Language.Bridge.min.js");

const { GlobalState, KustoCode, Symbols } = globalThis.Kusto.Language;
const listed = (sequence) => globalThis.Bridge.toArray(sequence);

function table([name, columns]) {
  const written = Object.entries(columns).map(([column, type]) => `${column}: ${type}`);
  return new Symbols.TableSymbol.$ctor7(name, `(${written.join(", ")})`, null);
}

function judged(text, globals) {
  const code = KustoCode.ParseAndAnalyze(text, globals);
  const columns = listed(code.ResultType?.Columns ?? []);
  return {
    problems: listed(code.GetDiagnostics()).map(({ Code, Message, Start }) => `${Code} at ${Start}: ${Message}`),
    columns: Object.fromEntries(columns.map((column) => [column.Name, column.Type.Name])),
  };
}

const { tables, queries } = JSON.parse(readFileSync(0, "utf8"));
const workspace = new Symbols.DatabaseSymbol.$ctor1("workspace", Object.entries(tables).map(table));
const globals = GlobalState.Default.WithDatabase(workspace);
const found = Object.entries(queries).map(([name, text]) => [name, judged(text, globals)]);
process.stdout.write(JSON.stringify(Object.fromEntries(found)));
