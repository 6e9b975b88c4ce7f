import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { idsIn, toMarkdown } from '../../../transports/slack/inbound/to-markdown.ts'
import { splitText } from '../../../transports/slack/outbound/split-text.ts'
import { toMrkdwn } from '../../../transports/slack/outbound/to-mrkdwn.ts'
import fc from '../../fixtures/fast-check.ts'

const names = new Map([
  ['U1ANN', 'Ann'],
  ['C0GEN', 'general'],
])

describe("Slack's markup becomes markdown", () => {
  const cases = {
    'bold, struck and code': ['*b* ~s~ `*c*`', '**b** ~~s~~ `*c*`'],
    'people and channels, by name': ['<@U1ANN> in <#C0GEN> or <#C9|other>', '@Ann in #general or #other'],
    'an unknown person, by id': ['<@U2BOB>', '@U2BOB'],
    'links with and without a label': [
      '<https://a.b/c|see> <https://a.b>',
      '[see](https://a.b/c) https://a.b',
    ],
    'mail addresses': ['<mailto:a@b.c|a@b.c>', 'a@b.c'],
    'words to everybody': ['<!here> <!subteam^S1|@ops> <!date^1^{date}|today>', '@here @ops today'],
    'entities, once': ['a &lt;b&gt; &amp;amp;', 'a <b> &amp;'],
    'arithmetic, which is none': ['2 * 3 * 4', '2 * 3 * 4'],
  } satisfies Record<string, [string, string]>
  for (const [name, [slack, markdown]] of Object.entries(cases)) {
    test(name, () => assert.equal(toMarkdown(slack, undefined, names), markdown))
  }

  test('and rich text says it exactly', () => {
    const section = (elements: object[]) => ({ type: 'rich_text_section', elements })
    const blocks = [
      {
        type: 'rich_text',
        elements: [
          section([
            { type: 'text', text: 'a*b* ' },
            { type: 'text', text: 'bold ', style: { bold: true } },
            { type: 'user', user_id: 'U1ANN' },
          ]),
          {
            type: 'rich_text_list',
            style: 'ordered',
            elements: [section([{ type: 'text', text: 'one' }]), section([{ type: 'text', text: 'two' }])],
          },
          { type: 'rich_text_preformatted', elements: [{ type: 'text', text: 'x = 1' }] },
          { type: 'rich_text_quote', elements: [{ type: 'text', text: 'said' }] },
        ],
      },
    ]
    const markdown = 'a*b* **bold** @Ann\n1. one\n2. two\n```\nx = 1\n```\n> said'
    assert.equal(toMarkdown('ignored', JSON.parse(JSON.stringify(blocks)), names), markdown)
    assert.deepEqual(idsIn('<@U2BOB> <#C0GEN>', JSON.parse(JSON.stringify(blocks))), {
      users: new Set(['U2BOB', 'U1ANN']),
      channels: new Set(['C0GEN']),
    })
  })
})

describe("markdown becomes Slack's markup", () => {
  const cases = {
    'bold, italic, struck, code': ['**b** *i* ~~s~~ `c`', '*b* _i_ ~s~ `c`'],
    headings: ['# Title\n\ntext', '*Title*\n\ntext'],
    links: ['[see](https://a.b/?x=1&y=2) https://c.d', '<https://a.b/?x=1&amp;y=2|see> <https://c.d>'],
    'links that Slack would not follow': ['[x](javascript:alert(1))', 'x (javascript:alert(1))'],
    lists: ['- a\n- b\n  - c\n\n1. x\n2. y', '• a\n• b\n    ◦ c\n\n1. x\n2. y'],
    tasks: ['- [x] done\n- [ ] open', '• ☑ done\n• ☐ open'],
    code: ['```js\na < b\n```', '```\na &lt; b\n```'],
    quotes: ['> said\n> so', '> said\n> so'],
    tables: ['| a | b |\n|---|---|\n| 10 | 2 |', '```\na   b\n--  -\n10  2\n```'],
    'mentions of people, which are meant': ['hi <@U1ANN>', 'hi <@U1ANN>'],
    'calls to everybody, which are not': ['<!channel> look', '&lt;!channel&gt; look'],
    'calls to everybody in the text of a picture': [
      '![<!channel>](x) ![<!here>][r]\n\n[r]: https://a.b',
      '&lt;!channel&gt; (x) <https://a.b|&lt;!here&gt;>',
    ],
    'links in headings': ['# See [Title](https://a.b) **now**', '*See <https://a.b|Title> now*'],
    'links in tables': [
      '| a |\n|---|\n| [x](https://a.b) <b> |',
      '```\na\n-------------------\nx (https://a.b) &lt;b&gt;\n```',
    ],
    'bold between characters that no space parts': [
      'これは**重要**です and **bold**text, **not** here',
      'これは\u200B*重要*\u200Bです and *bold*\u200Btext, *not* here',
    ],
    'entities, once': ['&lt;b&gt; &amp; &amp;lt; `&lt;`', '&lt;b&gt; &amp; &amp;lt; `&amp;lt;`'],
    'entities in links': ['[a &amp; b](https://a.b/?x&amp;y)', '<https://a.b/?x&amp;y|a &amp; b>'],
    'a fence in a fence': ['````\n```js\nx\n```\n````', '```\n`\u200B``js\nx\n`\u200B``\n```'],
    'breaks in HTML': ['a<br>b<i>', 'a\nb&lt;i&gt;'],
    'mentions where there can be none': [
      '[ask <@U1ANN>](https://a.b) `<@U1ANN|x>`',
      '<https://a.b|ask @U1ANN> `&lt;@U1ANN|x&gt;`',
    ],
    'characters that Slack keeps for itself': ['a & b < c', 'a &amp; b &lt; c'],
  } satisfies Record<string, [string, string]>
  for (const [name, [markdown, slack]] of Object.entries(cases)) {
    test(name, () => assert.equal(toMrkdwn(markdown), slack))
  }

  test('and nobody can be called but people and channels, whatever is written', () => {
    const piece = fc.constantFrom(
      '<!channel>',
      '<!here|x>',
      '<',
      '>',
      '!channel',
      '![<!channel>](x)',
      '![',
      '!',
      '&lt;',
      '&#xE000;0&#xE001;',
      '<@U1ANN|',
      '\uE0000\uE001',
      '`',
      '*',
      '[',
      ']',
      '(',
      ')',
      '\n',
      'a',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        assert.doesNotMatch(toMrkdwn(pieces.join('')), /<!/)
      }),
      { numRuns: 300 },
    )
  })
})

describe('a long text', () => {
  test('is split so that nothing is lost but space, and no part is too long', () => {
    fc.assert(
      fc.property(
        fc.array(fc.lorem({ maxCount: 30 }), { minLength: 1, maxLength: 40 }),
        fc.constantFrom(' ', '\n', '\n\n'),
        (words, glue) => {
          const text = words.join(glue)
          const parts = splitText(text, 300)
          assert.ok(parts.every((part) => part.length <= 300))
          assert.equal(parts.join('').replaceAll(/\s/g, ''), text.replaceAll(/\s/g, ''))
        },
      ),
      { numRuns: 100 },
    )
  })

  test('is split between paragraphs where it can', () => {
    assert.deepEqual(splitText(`${'a'.repeat(80)}\n\n${'b'.repeat(80)}`, 120), [
      'a'.repeat(80),
      'b'.repeat(80),
    ])
  })

  test('keeps its code as code in every part', () => {
    const code = `before\n\`\`\`\n${Array.from({ length: 40 }, (_, line) => `line ${line}`).join('\n')}\n\`\`\`\nafter`
    for (const part of splitText(code, 120)) assert.equal(part.split('```').length % 2, 1, part)
  })

  test('leaves no code block empty, wherever it is cut', () => {
    for (let length = 60; length < 140; length++) {
      const code = `${'x'.repeat(20)}\n\`\`\`\n${'a\n'.repeat(20)}${'b'.repeat(length)}\n\`\`\`\nafter ${'w '.repeat(40)}`
      for (const part of splitText(code, 120)) assert.doesNotMatch(part, /```\s*```/, `${length}: ${part}`)
    }
    for (let length = 60; length < 140; length++) {
      const code = `${'w '.repeat(length / 2)}\n\`\`\`\n${'a\n'.repeat(60)}\`\`\``
      for (const part of splitText(code, 120)) assert.doesNotMatch(part, /```\s*```/, `${length}: ${part}`)
    }
  })

  test('is not cut inside a link or marked words', () => {
    const marked = ['<https://example.com/a|a label with words>', '*bold words in a row*', '`some code here`']
    for (const each of marked) {
      for (let length = 70; length < 120; length++) {
        const parts = splitText(`${'w '.repeat(length / 2)}${each} tail. ${'x '.repeat(20)}`, 120)
        assert.ok(
          parts.some((part) => part.includes(each)),
          `${length}: ${parts.join(' | ')}`,
        )
      }
    }
  })

  test('is split in good time, whatever it looks like', () => {
    for (const piece of ['*a ', '_a*b ', '<', '` x', '*', '&', '```\n']) {
      const from = performance.now()
      splitText(piece.repeat(60_000 / piece.length))
      assert.ok(performance.now() - from < 2000, piece)
    }
  })

  test('is never cut inside a character', () => {
    for (const part of splitText('👍'.repeat(200), 100)) assert.ok(part.isWellFormed())
  })
})
