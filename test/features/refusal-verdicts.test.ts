import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createRefusalTally } from '../../src/engine/refusal-tally.ts'
import { refusalTroubles } from '../../src/features/troubles/refusal-troubles.ts'
import { verdictOf } from '../../src/features/troubles/refusal-verdicts.ts'

const MINUTE = 60_000
const START = Date.UTC(2026, 10, 29, 3)
const WRONG = { from: '192.0.2.7', why: 'the signature does not match' }

/**
 * Deliveries of a gateway: accepted ones and refused ones. Returns the likely cause of the
 * refusals.
 */
function gateway() {
  let at = START
  const tally = createRefusalTally(() => at)
  return {
    later: (ms: number) => {
      at += ms
    },
    change: () => tally.changed('payments'),
    kept: (fits: number, tried: number) => tally.keptFits('payments', { fits, tried }),
    trouble: () => refusalTroubles(tally.list(), at)[0],
    good: (count = 1) => tally.accepted('payments', count),
    bad(count: number, refused = WRONG) {
      for (let done = 0; done < count; done++) tally.refused('payments', 'signature_invalid', refused)
    },
    cause: () => tally.list().map((count) => verdictOf(count).cause)[0],
    verdict: () => tally.list().map(verdictOf)[0],
  }
}

describe('the likely cause of refused signatures', () => {
  test('is another secret if nothing was ever accepted, and a rotated one if it was', () => {
    const fresh = gateway()
    fresh.bad(20)
    assert.equal(fresh.cause(), 'wrong-secret')
    const known = gateway()
    known.good()
    known.later(MINUTE)
    known.bad(20)
    assert.equal(known.cause(), 'rotated-secret')
  })

  test('is not a stranger once the secret was repaired', () => {
    const { good, bad, later, cause, trouble } = gateway()
    good(3)
    later(MINUTE)
    bad(108)
    later(MINUTE)
    good(3)
    assert.equal(cause(), 'recovered')
    later(MINUTE)
    good(200)
    // It accepts again since the first of these, not since the first refusal.
    assert.equal(trouble()?.since, START + 2 * MINUTE)
    assert.equal(cause(), 'recovered', 'however many are accepted')
    later(MINUTE)
    bad(20)
    assert.equal(cause(), 'rotated-secret')
  })

  test('knows when the refusals ended, and how many were accepted since', () => {
    const { good, bad, later, verdict } = gateway()
    good(1)
    bad(30)
    assert.equal(verdict()?.endedAt, undefined)
    later(MINUTE)
    good(12)
    later(MINUTE)
    assert.partialDeepStrictEqual(verdict(), { endedAt: START, acceptedAfter: 12 })
  })

  test('is unknown after a change of the gateway, until the next delivery', () => {
    const { good, bad, later, change, verdict, cause } = gateway()
    bad(30)
    later(MINUTE)
    change()
    later(MINUTE)
    assert.partialDeepStrictEqual(verdict(), {
      cause: 'changed',
      endedAt: START,
      changed: { at: START + MINUTE, accepted: 0, refused: 0 },
    })
    good(14)
    assert.equal(cause(), 'recovered')
    // What was accepted before a change proves nothing about it.
    change()
    assert.partialDeepStrictEqual(verdict(), {
      cause: 'changed',
      acceptedAfter: 14,
      changed: { at: START + 2 * MINUTE, accepted: 0 },
    })
    good(2)
    assert.partialDeepStrictEqual(verdict(), { cause: 'recovered', changed: { accepted: 2 } })
    bad(1)
    assert.equal(verdict()?.changed, undefined)
    assert.notEqual(cause(), 'changed')
  })

  test('is a change that does not help, if all are refused since', () => {
    const { good, bad, later, change, verdict, trouble } = gateway()
    good(2)
    bad(122)
    later(MINUTE)
    good(14)
    assert.equal(verdict()?.cause, 'recovered')
    later(MINUTE)
    change()
    later(MINUTE)
    bad(1)
    // The refusals of today's outage and those of the one before are two episodes.
    assert.partialDeepStrictEqual(verdict(), {
      cause: 'failed-change',
      since: START + 3 * MINUTE,
      count: 1,
      total: { refused: 1, accepted: 0 },
      share: 1,
      from: [{ name: '192.0.2.7', count: 1, total: 1 }],
      earlier: [{ since: START, last: START, refused: 122, acceptedAfter: 14 }],
    })
    assert.partialDeepStrictEqual(trouble(), {
      severity: 'error',
      title: 'Gateway payments refuses every delivery',
    })
    assert.match(
      String(trouble()?.text),
      /^1 of 1 delivery since 03:03 UTC refused \(signature_invalid\).* It was changed at 03:02 UTC\. Before that: 122 refused from 03:00 UTC to 03:00 UTC, then 14 accepted\./,
    )
    later(MINUTE)
    change()
    assert.equal(verdict()?.cause, 'changed')
    good(3)
    assert.equal(verdict()?.cause, 'recovered')
    assert.partialDeepStrictEqual(trouble(), { severity: 'info' })
  })

  test('after a change, is what the new configuration does with the kept deliveries', () => {
    const { good, bad, later, change, kept, verdict, trouble } = gateway()
    good(2)
    bad(60)
    later(MINUTE)
    change()
    kept(0, 50)
    assert.partialDeepStrictEqual(verdict(), {
      cause: 'failed-change',
      likely:
        'The gateway was changed, but would refuse all 50 refused deliveries that are kept again: the change is probably wrong.',
    })
    assert.equal(trouble()?.severity, 'error')
    later(MINUTE)
    change()
    kept(50, 50)
    assert.partialDeepStrictEqual(verdict(), { cause: 'changed', endedAt: START })
    assert.partialDeepStrictEqual(trouble(), { severity: 'info' })
    assert.match(
      String(trouble()?.text),
      /nothing was delivered since\. The new configuration would accept all 50 refused deliveries that are kept;/,
    )
  })

  test('is a change that does not fit deliveries that the configuration before it fitted', () => {
    const { good, bad, later, change, kept, verdict, trouble } = gateway()
    good(2)
    bad(60)
    later(MINUTE)
    change()
    kept(50, 50)
    good(1)
    assert.equal(verdict()?.cause, 'recovered')
    for (const _ of ['wrong', 'also wrong']) {
      later(10 * MINUTE)
      change()
      kept(0, 50)
      assert.equal(verdict()?.cause, 'failed-change')
      assert.partialDeepStrictEqual(trouble(), {
        severity: 'error',
        title: 'Gateway payments refuses every delivery',
        since: verdict()?.changed?.at,
      })
      assert.match(String(trouble()?.text), /would refuse all 50 refused deliveries that are kept again/)
    }
    change()
    kept(50, 50)
    good(1)
    assert.equal(verdict()?.cause, 'recovered')
  })

  test('is only a change if no configuration since has fitted the kept deliveries', () => {
    const { good, bad, change, kept, cause } = gateway()
    good(20)
    bad(12)
    good(1)
    change()
    kept(0, 12)
    assert.equal(cause(), 'changed', 'the refused ones may be of a stranger')
  })

  test('after a repair, all deliveries that were refused and not repeated since are to be repeated', () => {
    const { good, bad, change, later, trouble, verdict } = gateway()
    good(5)
    bad(40)
    later(MINUTE)
    change()
    bad(2)
    later(MINUTE)
    change()
    good(2)
    assert.match(trouble()?.todo ?? '', /^Let the sender repeat the 42 refused deliveries\./)
    assert.match(trouble()?.text ?? '', /\b2 of 2 deliveries from /)
    assert.equal(verdict()?.todo, trouble()?.todo)
    later(MINUTE)
    bad(30)
    later(MINUTE)
    change()
    good(1)
    // At most 2 of the 42 were repeated.
    assert.match(trouble()?.todo ?? '', /^Let the sender repeat the 72 refused deliveries\./)
    later(MINUTE)
    good(80)
    change()
    bad(1)
    change()
    good(1)
    assert.match(trouble()?.todo ?? '', /^Let the sender repeat the refused delivery\./)
  })

  test('an outage after a repair without a change is an episode of its own', () => {
    const { good, bad, later, verdict } = gateway()
    good(2)
    bad(30)
    later(MINUTE)
    good(5)
    bad(4)
    assert.partialDeepStrictEqual(verdict(), {
      cause: 'rotated-secret',
      count: 4,
      share: 1,
      earlier: [{ refused: 30, acceptedAfter: 5 }],
    })
  })

  test('is a stranger if other deliveries are accepted', () => {
    const { good, bad, later, cause } = gateway()
    for (let minute = 0; minute < 10; minute++) {
      good(10)
      bad(1)
      assert.equal(cause(), 'stranger')
      later(MINUTE)
    }
  })
})

test('a path without a gateway may be that of a gateway that does not run', () => {
  const tally = createRefusalTally(() => 0)
  tally.refused('-', 'not_found', { from: '192.0.2.7', why: 'no gateway listens at /hooks/shop (POST).' })
  const [verdict] = tally.list().map(verdictOf)
  assert.equal(verdict?.cause, 'mistyped-address')
  assert.match(verdict.todo, /`trivium status`/)
})

test('a body over the limit needs another limit, not another rate', () => {
  const tally = createRefusalTally(() => 0)
  tally.refused('shop', 'body_too_large', { from: '192.0.2.7', why: 'The body is over the limit.' })
  const [verdict] = tally.list().map(verdictOf)
  assert.equal(verdict?.cause, 'too-large')
  assert.match(verdict.todo, /`max-body`/)
})
