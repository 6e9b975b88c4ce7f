import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { attempt } from '../../../src/lib/attempt.ts'
import { ROOT } from './root.ts'

/** A commit of this repository in a folder of its own, to be measured along with this one. */
export type OtherCommit = { name: string; root: string }

/**
 * Checks out a commit into a temporary git worktree. It uses the packages of this clone if both
 * have the same lock file; otherwise it gets its own. Throws if git knows no such commit. `remove`
 * deletes the worktree.
 */
export function checkOut(commit: string): OtherCommit & { remove(): void } {
  const name = nameOf(commit)
  const root = mkdtempSync(join(tmpdir(), 'trivium-commit-'))
  const remove = () => {
    try {
      git('worktree', 'remove', '--force', root)
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  }
  try {
    git('worktree', 'add', '--detach', root, name)
    const lockOf = (folder: string) => readFileSync(join(folder, 'package-lock.json'), 'utf8')
    if (lockOf(root) === lockOf(ROOT)) symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
    else execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: root })
  } catch (error) {
    // If git made no worktree, there is none to remove, and the first error is the one to report.
    attempt(remove)
    throw error
  }
  return { name, root, remove }
}

function nameOf(commit: string): string {
  try {
    return git('rev-parse', '--short', '--verify', '--quiet', `${commit}^{commit}`)
  } catch (cause) {
    throw new Error(`git knows no commit "${commit}"`, { cause })
  }
}

function git(...args: string[]): string {
  return execFileSync('git', args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim()
}
