import { cpSync, globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { builtPackage } from '../../ops/tests/built-package.ts'
import { root } from './blocks.ts'

export type Workshop = Awaited<ReturnType<typeof createWorkshop>>

/**
 * A folder with the built package in node_modules, as after `npm install`; the projects of the
 * pages are folders in it.
 */
export async function createWorkshop() {
  const dir = mkdtempSync(join(tmpdir(), 'trivium-docs-'))
  const installed = join(dir, 'node_modules', 'trivium')
  cpSync(await builtPackage(), installed, { recursive: true })
  for (const name of globSync('node_modules/[!.]*', { cwd: root })) {
    symlinkSync(resolve(root, name), join(dir, name))
  }
  return {
    dir,
    bin: join(installed, 'bin', 'trivium.js'),
    /** TypeScript files of the projects, whose types are checked all at once. */
    typed: [] as string[],
    write(path: string, text: string) {
      mkdirSync(dirname(join(dir, path)), { recursive: true })
      writeFileSync(join(dir, path), text)
    },
    remove: () => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }),
  }
}
