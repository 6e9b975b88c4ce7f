import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseSearch } from '../../src/core/search-words.ts'

describe('search words', () => {
  test('are words, quoted texts, and keys before a colon', () => {
    assert.deepEqual(parseSearch('refund "out of stock" late'), { words: ['refund', 'out of stock', 'late'] })
    assert.deepEqual(parseSearch('from:ada status:dead,retrying gateway:shop event:order.paid'), {
      words: [],
      sender: 'ada',
      outcome: ['dead', 'retrying'],
      gateway: 'shop',
      event: 'order.paid',
    })
    assert.deepEqual(parseSearch('from:"Ada Lovelace" conversation:c1 transport:email'), {
      words: [],
      sender: 'Ada Lovelace',
      conversation: 'c1',
      transport: 'email',
    })
    assert.deepEqual(parseSearch('after:2026-11-21T10:00:00Z before:2026-11-22'), {
      words: [],
      since: Date.parse('2026-11-21T10:00:00Z'),
      until: Date.parse('2026-11-22'),
    })
    assert.deepEqual(parseSearch('status:failed').outcome, ['dead', 'undelivered'])
    assert.ok(!parseSearch('-status:failed').outcome?.some((each) => /dead|undelivered/.test(each)))
    assert.deepEqual(parseSearch('  '), { words: [] })
  })

  test('have a range of time: an end that is a time of day belongs to the day of the start', () => {
    const { since = 0, until = 0 } = parseSearch('before:11:00 after:"yesterday 10:00"')
    assert.equal(until - since, 3_600_000)
  })

  test('have a range of hours after `after:`, as --since has', () => {
    const { since = 0, until = 0, words } = parseSearch('late after:"yesterday 14-15"')
    assert.equal(until - since, 3_600_000)
    assert.deepEqual(words, ['late'])
    assert.throws(() => parseSearch('before:"yesterday 14-15"'), { message: /expected a time \(2026-11-21,/ })
  })

  test('name the missing quotes of a time with a space', () => {
    for (const [text, quoted] of [
      ['after:yesterday 14:00', 'after:"yesterday 14:00"'],
      ['after:yesterday evening', 'after:"yesterday evening"'],
      ['late before:2026-11-21 9:30 from:ada', 'before:"2026-11-21 9:30"'],
      ['since:monday 14-15', 'since:"monday 14-15"'],
    ] as const)
      assert.throws(
        () => parseSearch(text),
        ({ message }: Error) => message.includes(`a time with a space needs quotes: ${quoted}.`),
      )
    assert.deepEqual(parseSearch('after:yesterday "14:00" 12-3456').words, ['14:00', '12-3456'])
    assert.deepEqual(parseSearch('after:2h 14:00').words, ['14:00'])
  })

  test('of digits only are `numbers`, unless they are in quotes', () => {
    assert.deepEqual(parseSearch('refund 4711 "4777" #12'), {
      words: ['refund', '4777', '#12'],
      numbers: ['4711'],
    })
  })

  test('can be URLs, times and quoted keys', () => {
    assert.deepEqual(parseSearch('https://example.org/a?b=c at 10:30'), {
      words: ['https://example.org/a?b=c', 'at', '10:30'],
    })
    assert.deepEqual(parseSearch('"re: invoice" "say \\"yes\\""'), { words: ['re: invoice', 'say "yes"'] })
    assert.deepEqual(parseSearch('ADA FROM:Ada Status:DEAD'), {
      words: ['ADA'],
      sender: 'Ada',
      outcome: ['dead'],
    })
  })

  test('are refused with the reason and the known keys', () => {
    const invalid: [search: string, message: RegExp][] = [
      [
        'form:ada',
        /form: is not a known key; did you mean from:\? Known keys are from: status: gateway: .*"form:ada"/,
      ],
      ['colour:red', /colour: is not a known key\. Known keys are/],
      ['constructor:red', /constructor: is not a known key/],
      ['status:dad', /status:dad is unknown; did you mean dead\?/],
      ['status:dead, retrying', /status:dead, has an empty part; write .*status:dead,retrying/],
      ['from:', /from: needs a value: part of the id/],
      ['from: status:dead', /from: needs a value/],
      ['after:noon', /after:noon: expected a time/],
      ['after:1h before:2h', /before:2h is not after 1h/],
      ['after:2999-01-01', /after:2999-01-01 is in the future/],
      ['status:dead status:done', /status: is given twice; .*status:dead,retrying/],
      ['from:a from:b', /from: is given twice/],
      ['"no end', /a quotation mark is not closed/],
      ['skill:refund', /skill: is not a known key; the messages of a skill are found by their route:/],
      ['-after:2h', /-after:2h: a time cannot be left out; use before:/],
      ['-attempts:1', /-attempts:1: attempts cannot be left out; use attempts:<2/],
      ['-error:away', /-error:away: errors cannot be left out; use -status:failed/],
      ['attempts:many', /attempts:many: expected a number of attempts, such as 2, >1, >=3 or <2/],
      ['attempts:1 attempts:2', /attempts: is given twice/],
      ['-status:dne', /status:dne is unknown; did you mean done\?/],
      ['-gateway:', /-gateway: needs a value: its gateway/],
    ]
    for (const [text, message] of invalid) assert.throws(() => parseSearch(text), { message }, text)
  })

  test('find a number of attempts, or a range', () => {
    const attemptsOf = (text: string) => parseSearch(text).attempts
    assert.deepEqual(attemptsOf('attempts:>1 lamp'), { min: 2 })
    assert.deepEqual(attemptsOf('attempts:>=2'), { min: 2 })
    assert.deepEqual(attemptsOf('attempts:<2'), { max: 1 })
    assert.deepEqual(attemptsOf('attempts:<=2'), { max: 2 })
    assert.deepEqual(attemptsOf('attempts:3'), { min: 3, max: 3 })
    assert.equal(parseSearch('error:"Bad Gateway" lamp').error, 'Bad Gateway')
  })

  test('leave out what a key with a minus names', () => {
    const found = { words: ['late', '-soon'], withoutGateways: ['team', 'shop'] }
    assert.deepEqual(parseSearch('late -gateway:team -soon -GATEWAY:shop'), found)
    assert.deepEqual(parseSearch('"-gateway:team"'), { words: ['-gateway:team'] })
    assert.deepEqual(
      parseSearch('-route:labels -sender:"Ada Lovelace" -event:ping -conversation:#1 -transport:cli'),
      {
        words: [],
        withoutRoutes: ['labels'],
        withoutSenders: ['Ada Lovelace'],
        withoutEvents: ['ping'],
        withoutConversations: ['#1'],
        withoutTransports: ['cli'],
      },
    )
    assert.deepEqual(parseSearch('-colour:red'), { words: ['-colour:red'] })
  })

  test('leave out outcomes', () => {
    const { outcome = [] } = parseSearch('-status:done,dead')
    assert.ok(!outcome.includes('done') && !outcome.includes('dead') && outcome.includes('retrying'))
    assert.deepEqual(parseSearch('status:dead,retrying -status:dead').outcome, ['retrying'])
  })

  test('that look like an unknown key are found as the error says', () => {
    for (const text of ['re:"out of stock"', 'C:\\x', 'note:"a \\\\ b"', 're:']) {
      let advice = ''
      assert.throws(
        () => parseSearch(text),
        ({ message }: Error) => {
          advice = message.split('to search for the text: ')[1] ?? ''
          return true
        },
      )
      assert.deepEqual(parseSearch(advice), { words: [text] })
    }
  })
})
