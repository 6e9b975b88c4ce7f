import { spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { madeOnce, ROOT } from './made-once.ts'

/** The folder with the built package, as npm installs it, but without its docs. Tests copy it. */
export function builtPackage(): Promise<string> {
  return madeOnce('package', (folder) => {
    const { status, stdout } = spawnSync(process.execPath, ['ops/build.ts', join(folder, 'dist')], {
      cwd: ROOT,
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(stdout)
    for (const part of ['bin', 'package.json', 'project']) {
      cpSync(join(ROOT, part), join(folder, part), { recursive: true })
    }
  })
}
