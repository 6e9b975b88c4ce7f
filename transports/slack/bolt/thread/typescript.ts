import { existsSync, readFileSync, statSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { transformSync } from 'amaro'
import { createPathsMatcher, getTsconfig } from 'get-tsconfig'
import { reasonOf } from '../../../../src/core/errors.ts'
import { isJsonObject, parseJson, textAt } from '../../../../src/core/json.ts'
import { attempt } from '../../../../src/lib/attempt.ts'

/** TypeScript sources that an import with each extension may refer to. */
const SOURCES: [RegExp, string[]][] = [
  [/\.js$/, ['.ts', '.tsx']],
  [/\.mjs$/, ['.mts']],
  [/\.cjs$/, ['.cts']],
]
/** Extensions tried for imports without one, and for folders. */
const EXTENSIONS = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json']

/** Resolves imports of TypeScript projects that Node does not support: sources, folders, and `paths` of tsconfig.json. */
export function createSourceResolver(entry: string) {
  const tsconfig = attempt(() => getTsconfig(entry))
  const match = tsconfig ? attempt(() => createPathsMatcher(tsconfig)) : undefined
  return {
    /** Resolves names such as `@/listeners`; undefined if tsconfig.json does not map them to a file. */
    mapped: (specifier: string): string | undefined =>
      /^(\.{0,2}\/|node:|file:|#)/.test(specifier) ? undefined : first((match ?? (() => []))(specifier)),
    /** Resolves `./a.js` for `a.ts`, `./a`, and `./folder`. */
    relative(specifier: string, parent: string | undefined): string | undefined {
      if (!parent || !/^(\.{1,2}(\/|$)|\/|file:)/.test(specifier)) return undefined
      return first([fileURLToPath(new URL(specifier.replace(/^\//, 'file:///'), parent))])
    },
  }
}

function first(paths: readonly string[]): string | undefined {
  const found = paths.flatMap(candidates).find((path) => existsSync(path) && statSync(path).isFile())
  return found && pathToFileURL(found).href
}

function candidates(path: string): string[] {
  const sources = SOURCES.flatMap(([compiled, extensions]) =>
    compiled.test(path) ? extensions.map((each) => path.replace(compiled, each)) : [],
  )
  const added = EXTENSIONS.flatMap((each) => [path + each])
  return [path, ...sources, ...added, ...EXTENSIONS.map((each) => join(path, `index${each}`))]
}

/** Matches decorators, which Node cannot run. Used only to explain failures, as strings may look the same. */
const DECORATOR = /^\s*@[A-Za-z_$][\w$.]*(\(|\s*$)/m

/** Makes the compiler for an app's TypeScript. */
export function createCompiler() {
  const decorated: string[] = []
  return {
    compile(url: string) {
      const made = compileTypeScript(fileURLToPath(url))
      if (DECORATOR.test(made.source)) decorated.push(fileURLToPath(url))
      return made
    },
    /** Explains a load failure, with the file if Node does not name it. */
    explained(error: unknown): unknown {
      const isSyntax = error instanceof SyntaxError || textAt(error, 'name') === 'SyntaxError'
      const [file] = decorated
      return isSyntax && file
        ? new SyntaxError(`${file} uses decorators, which Node does not run. ${COMPILE}`)
        : error
    },
  }
}

const COMPILE = 'Compile the app (`npx tsc`) and name the result in the route'

/** Compiles TypeScript, including enums, parameter properties and namespaces, and removes type-only imports. */
function compileTypeScript(filename: string): { source: string; format: 'module' | 'commonjs' } {
  const written = readFileSync(filename, 'utf8')
  const format = formatOf(filename, written)
  const { code, map } = compiled(filename, written)
  const source = format === 'module' ? withCommonNames(code) : code
  const inline = map
    ? `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString('base64')}`
    : ''
  return { source: source + inline, format }
}

/** A module for JSON imported without `with { type: 'json' }`, with its keys as exports, as in TypeScript. */
export function jsonModule(url: string): string {
  const written = readFileSync(fileURLToPath(url), 'utf8')
  const value: unknown = JSON.parse(written)
  const names = isJsonObject(value) ? Object.keys(value).filter((key) => /^[A-Za-z_$][\w$]*$/.test(key)) : []
  const exported = names.filter((name) => name !== 'default').map((name, index) => `k${index} as ${name}`)
  const consts = names
    .filter((name) => name !== 'default')
    .map((name, index) => `const k${index} = value.${name};`)
  return `const value = ${written.trim()};\nexport default value;\n${consts.join('\n')}\nexport { ${exported.join(', ')} };`
}

function compiled(filename: string, written: string) {
  try {
    // Types may be imported without the keyword `type`, as TypeScript allows by default.
    const transform = { verbatimModuleSyntax: false, nativeClassProperties: true }
    const options = { mode: 'transform', filename, transform, sourceMap: true } as const
    return transformSync(written, options)
  } catch (error) {
    const reason = textAt(error, 'message') ?? reasonOf(error)
    throw new SyntaxError(`${filename} cannot be compiled: ${reason}. ${COMPILE}`)
  }
}

/** `import … from` and `export` make an ES module, regardless of `module` in tsconfig.json. */
function formatOf(filename: string, written: string): 'module' | 'commonjs' {
  if (filename.endsWith('.mts')) return 'module'
  if (filename.endsWith('.cts')) return 'commonjs'
  if (/^\s*(export\s*=|import\s+\w+\s*=\s*require\()/m.test(written)) return 'commonjs'
  if (/^\s*(import|export)\b/m.test(written)) return 'module'
  const near = attempt(() => findPackageJSON(pathToFileURL(filename)))
  const type = near && textAt(parseJson(readFileSync(near, 'utf8')), 'type')
  return type === 'module' || /\bimport\.meta\b|^\s*await\b/m.test(written) ? 'module' : 'commonjs'
}

/** Defines CommonJS names for sources that are usually compiled to CommonJS, on the first line, to keep line numbers. */
function withCommonNames(code: string): string {
  const isMissing = (name: string) =>
    new RegExp(`(?<![.\\w])${name}\\b`).test(code) &&
    !new RegExp(`(const|let|var|function|import)\\s+(\\{[^}]*)?${name}\\b`).test(code)
  const made = [
    isMissing('__filename') ? 'const __filename = import.meta.filename;' : '',
    isMissing('__dirname') ? 'const __dirname = import.meta.dirname;' : '',
    isMissing('require')
      ? "const require = process.getBuiltinModule('module').createRequire(import.meta.url);"
      : '',
  ]
  return made.join('') + code
}

/** The folder of an app: that of its package.json, else of its file. */
export function folderOf(file: string): string {
  const near = attempt(() => findPackageJSON(pathToFileURL(file)))
  return dirname(near ?? file)
}
