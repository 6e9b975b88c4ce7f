import { spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { madeOnce, ROOT } from './made-once.ts'

/** A folder with the parts of the built package that run: bin, dist and project. Tests copy it. */
export function builtPackage(): Promise<string> {
  return madeOnce('package', (folder) => {
    const { status, stdout, stderr, error } = spawnSync(
      process.execPath,
      ['ops/build.ts', join(folder, 'dist')],
      {
        cwd: ROOT,
        encoding: 'utf8',
      },
    )
    if (status !== 0) throw new Error(`the build failed:\n${stdout}${stderr}`, { cause: error })
    for (const part of ['bin', 'package.json', 'project']) {
      cpSync(join(ROOT, part), join(folder, part), { recursive: true })
    }
  })
}
