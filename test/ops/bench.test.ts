import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { comparison } from '../../ops/bench/lib/comparison.ts'
import { checkOut } from '../../ops/bench/lib/other-commit.ts'
import { ROOT } from '../../ops/bench/lib/root.ts'
import { isReached } from '../../ops/bench/table.ts'

const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' })
const isClone = existsSync(join(ROOT, '.git'))

describe('bench --against', { skip: !isClone && 'needs a git clone' }, () => {
  test('checks a commit out beside the clone, shares the packages of the same lock file, and takes it away', () => {
    const other = checkOut('HEAD')
    try {
      const committed = git('show', 'HEAD:package-lock.json')
      assert.equal(readFileSync(join(other.root, 'package-lock.json'), 'utf8'), committed)
      const isShared = lstatSync(join(other.root, 'node_modules')).isSymbolicLink()
      assert.equal(isShared, committed === readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
    } finally {
      other.remove()
    }
    assert.ok(!existsSync(other.root))
    assert.ok(!git('worktree', 'list').includes(other.root))
  })

  test('names a commit that git does not know', () => {
    assert.throws(() => checkOut('no-such-commit'), /git knows no commit "no-such-commit"/)
  })
})

describe('the comparison with another commit', () => {
  const figures = (cpu: number, rate: number) => ({ cpu, rate })
  const verdict = (mine: ReturnType<typeof figures>) =>
    comparison({ row: 'accept', store: 'embedded' }, 'abc', [mine], [figures(100, 1_000)]).map(isReached)

  test('fails where a message costs over 5 % more, or the rate is over 5 % less', () => {
    assert.deepEqual(verdict(figures(104, 960)), [true, true])
    assert.deepEqual(verdict(figures(106, 1_000)), [false, true])
    assert.deepEqual(verdict(figures(100, 940)), [true, false])
  })
})
