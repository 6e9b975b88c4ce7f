import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Free space (bytes) that a file system in memory needs for tests. */
const NEEDED_SPACE = 2 ** 31

/**
 * Makes the folders for temporary files of a test run, and names them to its processes: `TMPDIR`,
 * and `TEST_FAST_DIR` for folders in memory. `TEST_SHARED_DIR` is the folder that all runs on this
 * machine share. Returns a function that removes what the run left there, such as the folders of a
 * test file that was killed.
 */
export function makeRunFolders(): () => void {
  const shared = tmpdir()
  const own = makeFolder(shared)
  const fast = makeFolder(fastRoot())
  Object.assign(process.env, { TEST_SHARED_DIR: shared, TMPDIR: own, TEST_FAST_DIR: fast })
  return () => {
    for (const folder of [own, fast]) remove(folder)
  }
}

/** A folder in memory, if the system has one with enough room; else that for temporary files. */
export function fastRoot(): string {
  return hasRoom('/dev/shm') ? '/dev/shm' : tmpdir()
}

function hasRoom(path: string): boolean {
  if (!existsSync(path)) return false
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize > NEEDED_SPACE
}

function makeFolder(root: string): string {
  const folder = mkdtempSync(join(root, 'trivium-run-'))
  // Mail servers run as other users.
  chmodSync(folder, 0o711)
  return folder
}

function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  } catch (error) {
    console.error(`${folder} could not be removed:`, error)
  }
}
