import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** The console for browsers: the page, and its files by name. Names change with the content. */
export type ConsoleBundle = { page: string; files: ReadonlyMap<string, Uint8Array> }

/** The path under which the files are served. */
export const CONSOLE_PATH = '/console/'

/** Reads the console of a built package, which is bundled. In a clone, bundles its sources. */
export async function readConsole(folder: string): Promise<ConsoleBundle> {
  if (existsSync(join(folder, 'app.js'))) return bundleConsole(folder)
  const page = readFileSync(join(folder, 'index.html'), 'utf8')
  const names = globSync('*-*.{js,css,svg}', { cwd: folder })
  return { page, files: new Map(names.map((name) => [name, readFileSync(join(folder, name))])) }
}

/**
 * Combines the sources into a few small files in memory, in about 100 ms. The first view needs one
 * style sheet and two scripts; late imports, and the styles of later views, have files of their own.
 * Needs the development packages. `packages`: the npm packages whose code is in the files.
 */
export async function bundleConsole(folder: string): Promise<ConsoleBundle & { packages: string[] }> {
  const { build, stop } = await import('esbuild')
  const { outputFiles, metafile } = await build({
    absWorkingDir: folder,
    entryPoints: ['app.js', 'console.css', 'later.css'],
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

/**
 * The page with the names of the files. Preloads the static imports of the script, which the
 * browser would find one by one.
 */
function pageOf(template: string, outputs: Outputs): string {
  const urlOf = (isWanted: (path: string) => boolean) =>
    CONSOLE_PATH + basename(Object.keys(outputs).find(isWanted) ?? '')
  const stylesOf = (source: string) => urlOf((path) => outputs[path]?.entryPoint === source)
  const [app = '', script] =
    Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === 'app.js') ?? []
  const chunks = (script?.imports ?? []).filter(({ kind }) => kind === 'import-statement')
  const preloads = chunks.map(
    ({ path }) => `<link rel="modulepreload" href="${CONSOLE_PATH}${basename(path)}" />`,
  )
  return template
    .replace('<!-- preload -->', preloads.join('\n    '))
    .replaceAll(
      '{icon}',
      urlOf((path) => path.endsWith('.svg')),
    )
    .replaceAll('{styles}', stylesOf('console.css'))
    .replaceAll('{later-styles}', stylesOf('later.css'))
    .replaceAll('{script}', CONSOLE_PATH + basename(app))
}
