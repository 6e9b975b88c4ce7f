import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** The console as a browser loads it: the page, and the files that it refers to by names that change with their content. */
export type ConsoleBundle = { page: string; files: ReadonlyMap<string, Uint8Array> }

/** Where the files are served. */
export const CONSOLE_PATH = '/console/'

/** Reads the console of a package, which was bundled when the package was built, or bundles its sources. */
export async function readConsole(folder: string): Promise<ConsoleBundle> {
  if (existsSync(join(folder, 'app.js'))) return bundleConsole(folder)
  const page = readFileSync(join(folder, 'index.html'), 'utf8')
  const names = globSync('*-*.{js,css,svg}', { cwd: folder })
  return { page, files: new Map(names.map((name) => [name, readFileSync(join(folder, name))])) }
}

/**
 * Combines the sources into a few small files in some 100 ms, without writing any. The first view needs one file of styles and two of
 * scripts; what is imported late comes in files of its own. Needs the development packages. `packages`: whose code is in them.
 */
export async function bundleConsole(folder: string): Promise<ConsoleBundle & { packages: string[] }> {
  const { build, stop } = await import('esbuild')
  const { outputFiles, metafile } = await build({
    absWorkingDir: folder,
    entryPoints: ['app.js', 'console.css'],
    outdir: 'bundle',
    publicPath: CONSOLE_PATH,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.svg': 'file' },
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    legalComments: 'none',
    metafile: true,
    write: false,
  })
  await stop()
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]))
  const page = pageOf(readFileSync(join(folder, 'index.html'), 'utf8'), metafile.outputs)
  const names = Object.keys(metafile.inputs).map(
    (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1],
  )
  return { page, files, packages: [...new Set(names.filter((name) => name !== undefined))].sort() }
}

type Outputs = Readonly<
  Record<string, { entryPoint?: string; imports: readonly { path: string; kind: string }[] }>
>

/** The page with the names of the files. What the script imports at once is preloaded, not found one after another. */
function pageOf(template: string, outputs: Outputs): string {
  const nameOf = (end: string) =>
    CONSOLE_PATH + basename(Object.keys(outputs).find((path) => path.endsWith(end)) ?? '')
  const [app = '', script] =
    Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === 'app.js') ?? []
  const chunks = (script?.imports ?? []).filter(({ kind }) => kind === 'import-statement')
  const preloads = chunks.map(
    ({ path }) => `<link rel="modulepreload" href="${CONSOLE_PATH}${basename(path)}" />`,
  )
  return template
    .replace('<!-- preload -->', preloads.join('\n    '))
    .replaceAll('{icon}', nameOf('.svg'))
    .replaceAll('{styles}', nameOf('.css'))
    .replaceAll('{script}', CONSOLE_PATH + basename(app))
}
