import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { root } from './blocks.ts'

export type Workshop = ReturnType<typeof createWorkshop>

/** A folder with the built package in node_modules, as after `npm install`; the projects of the pages are folders in it. */
export function createWorkshop() {
  const dir = mkdtempSync(join(tmpdir(), 'trivium-docs-'))
  const installed = join(dir, 'node_modules', 'trivium')
  const built = spawnSync(process.execPath, ['ops/build.ts', join(installed, 'dist')], { cwd: root })
  if (built.status !== 0) throw new Error(String(built.stdout))
  for (const part of ['bin', 'package.json', 'project']) {
    cpSync(join(root, part), join(installed, part), { recursive: true })
  }
  for (const name of globSync('node_modules/[!.]*', { cwd: root })) {
    symlinkSync(resolve(root, name), join(dir, name))
  }
  return {
    dir,
    bin: join(installed, 'bin', 'trivium.js'),
    write(path: string, text: string) {
      mkdirSync(dirname(join(dir, path)), { recursive: true })
      writeFileSync(join(dir, path), text)
    },
    remove: () => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }),
  }
}
