import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** A fresh directory that goes when the test ends. */
export function temporaryDir(t: Pick<TestContext, 'after'>): string {
  const dir = mkdtempSync(join(tmpdir(), 'trivium-state-'))
  t.after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 10 }))
  return dir
}
