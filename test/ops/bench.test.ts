import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { createBench } from '../../ops/bench/lib/bench.ts'
import { comparison } from '../../ops/bench/lib/comparison.ts'
import { checkOut } from '../../ops/bench/lib/other-commit.ts'
import { CORE, startPeer } from '../../ops/bench/lib/peer.ts'
import { ROOT } from '../../ops/bench/lib/root.ts'
import { medianInterval } from '../../ops/bench/lib/statistics.ts'
import { serveHttp } from '../fixtures/http-server.ts'

const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' })
const isClone = existsSync(join(ROOT, '.git'))

describe('bench --against', { skip: !isClone && 'needs a git clone' }, () => {
  test('checks a commit out beside the clone, shares packages if the lock file is the same, and removes it', () => {
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

  test('refuses a commit that git does not know', () => {
    assert.throws(() => checkOut('no-such-commit'), /git knows no commit "no-such-commit"/)
  })
})

describe('the options of bench', () => {
  for (const option of ['--rounds', '--seconds']) {
    test(`refuses ${option} that is not a number above 0`, () => {
      const args = ['ops/bench/main.ts', option, 'many', '--list']
      const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' })
      assert.equal(status, 2)
      assert.equal(stderr, `${option} needs a number above 0, not many.\n`)
    })
  }
})

describe('the comparison with another commit', () => {
  const other = { cpu: 100, rate: 1_000 }
  const verdicts = (costs: readonly number[], rates: readonly number[] = [1_000]) => {
    const mine = costs.map((cpu, round) => ({ cpu, rate: rates[round % rates.length] ?? 0 }))
    const others = costs.map(() => other)
    return comparison({ row: 'accept', store: 'embedded' }, 'abc', mine, others).map(({ verdict }) => verdict)
  }
  /** The processor time of two copies of one commit on a busy machine, as ratios in percent. */
  const NOISE = [73, 128, 107, 95, 119, 84, 107, 112, 107, 98, 121, 90]

  test('fails if a message costs over 5 % more, or the rate is over 5 % less', () => {
    const steady = [103, 104, 103, 102, 104, 103]
    assert.deepEqual(verdicts(steady), ['not slower', 'not slower'])
    assert.deepEqual(verdicts([107, 108, 106, 109, 107, 108]), ['slower', 'not slower'])
    assert.deepEqual(verdicts(steady, [930, 920, 940]), ['not slower', 'slower'])
  })

  test('is undecided if the rounds differ by more than the two commits', () => {
    assert.deepEqual(verdicts(NOISE), ['undecided', 'not slower'])
    assert.deepEqual(verdicts([106, 99, 108]), ['undecided', 'not slower'])
    assert.deepEqual(verdicts([100, 101, 112, 99, 100, 102]), ['undecided', 'not slower'])
  })

  test('finds a slow-down under the same noise', () => {
    assert.deepEqual(verdicts(NOISE.map((cost) => cost * 1.25)), ['slower', 'not slower'])
  })

  test('ignores rare outliers if enough rounds agree', () => {
    const agreeing = [101, 99, 102, 100, 98, 101, 103, 100]
    assert.deepEqual(verdicts([...agreeing, 140]), ['not slower', 'not slower'])
  })
})

describe('the interval of a median', () => {
  test('spans all of up to six values, and excludes the outermost of more', () => {
    assert.deepEqual(medianInterval([3, 1, 2]), { low: 1, high: 3 })
    assert.deepEqual(medianInterval([1, 2, 3, 4, 5, 6]), { low: 1, high: 6 })
    assert.deepEqual(medianInterval([1, 2, 3, 4, 5, 6, 7, 8, 9]), { low: 2, high: 8 })
    const twenty = Array.from({ length: 20 }, (_, index) => index + 1)
    assert.deepEqual(medianInterval(twenty), { low: 6, high: 15 })
  })
})

describe('the tools of a benchmark row', () => {
  test('the paced load sends with each request when it was due, not when it was made', async (t) => {
    const due: bigint[] = []
    const { url, close } = await serveHttp(async (request, response) => {
      due.push(BigInt(JSON.parse(await text(request)).sentAt))
      response.end('{}')
    })
    t.after(close)
    const load = await startPeer('paced-load', CORE.load)
    t.after(load.end)
    const rate = 500
    const { total } = await load.call('run', { port: Number(new URL(url).port), rate, seconds: 0.2 })
    assert.equal(total, 100)
    due.sort((a, b) => Number(a - b))
    const steps = due.slice(1).map((at, index) => Number(at - (due[index] ?? 0n)))
    assert.deepEqual(
      steps.filter((step) => Math.abs(step - 1e9 / rate) > 1),
      [],
    )
  })

  test('all clean-ups run, even if one fails', async () => {
    const { bench, cleanUp } = createBench({
      stores: [],
      quick: true,
      rounds: 1,
      seconds: 1,
      progress() {},
    })
    const ran: number[] = []
    bench.defer(() => void ran.push(1))
    bench.defer(() => Promise.reject(new Error('the second')))
    bench.defer(() => void ran.push(3))
    await assert.rejects(cleanUp(), (error) => error instanceof AggregateError && error.errors.length === 1)
    assert.deepEqual(ran, [3, 1])
  })

  test('a call to a process that has ended is an error', async () => {
    const load = await startPeer('paced-load', CORE.load)
    await load.end()
    await assert.rejects(load.call('run'), /paced-load has ended/)
  })
})
