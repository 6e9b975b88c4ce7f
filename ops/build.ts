// `npm run build`: compiles the sources to JavaScript in dist/ (or the folder in the first
// argument), with the same layout, because Node does not strip types under node_modules. `npm pack`
// runs it first. tsconfig.build.json lists what is published; a user's own skills in this clone are
// not.
import { spawnSync } from 'node:child_process'
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { bundleConsole } from '../src/api/console-bundle.ts'

const dist = process.argv[2] ?? 'dist'
const CONSOLE = join('src', 'console')

rmSync(dist, { recursive: true, force: true })
const { status } = spawnSync('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json', '--outDir', dist], {
  stdio: 'inherit',
})
if (status !== 0) {
  console.error('The build failed: see the errors of tsc above.')
  process.exit(1)
}
copyAssets()
await writeConsole()
copyManifest()

/** Copies all files other than TypeScript: SQL, Lua, pages, schemas and prompts. */
function copyAssets(): void {
  const { include } = JSON.parse(readFileSync('tsconfig.build.json', 'utf8'))
  const patterns = include.flatMap((path: string) => [path, `${path}/**/*`])
  const assets = globSync(patterns, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.startsWith(CONSOLE))
  for (const file of assets) {
    mkdirSync(dirname(join(dist, file)), { recursive: true })
    copyFileSync(file, join(dist, file))
  }
}

/**
 * Writes the console as the files that browsers load. A clone bundles its console at the first
 * request.
 */
async function writeConsole(): Promise<void> {
  const { page, files, packages } = await bundleConsole(join(process.cwd(), CONSOLE))
  mkdirSync(join(dist, CONSOLE), { recursive: true })
  const licenses = packages.map(licenseOf).join('\n\n')
  for (const [name, content] of [['index.html', page] as const, ['LICENSES', licenses] as const, ...files])
    writeFileSync(join(dist, CONSOLE, name), content)
}

/**
 * The license of a package whose code is in the console. Each license must be distributed with the
 * code.
 */
function licenseOf(name: string): string {
  const [file] = globSync(`node_modules/${name}/{LICENSE,license}*`)
  if (file === undefined) throw new Error(`${name} has no license file`)
  return `${name}\n\n${readFileSync(file, 'utf8').trim()}\n`
}

/** The built files, like the sources, look for package.json one folder above src/. */
function copyManifest(): void {
  const { name, version, type } = JSON.parse(readFileSync('package.json', 'utf8'))
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify({ name, version, type }, null, 2)}\n`)
}
