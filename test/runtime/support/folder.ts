import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { fastDir } from '../../fixtures/folder.ts'
import { cleanup } from './cleanup.ts'

/** A folder in the temp dir with these files, by relative path; removed after the test. */
export async function createFolder(t: TestContext, files: Record<string, string> = {}): Promise<string> {
  const folder = await mkdtemp(join(fastDir, 'trivium-skills-'))
  cleanup(t, () => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  for (const [path, text] of Object.entries(files)) await writeIn(folder, path, text)
  return folder
}

export async function writeIn(folder: string, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true })
  await writeFile(join(folder, path), text)
}
