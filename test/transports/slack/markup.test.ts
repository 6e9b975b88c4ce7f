import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decodeHTMLStrict } from 'entities'
import { mrkdwnToMarkdown } from '../../../transports/slack/inbound/content.ts'
import { withoutGroupMentions } from '../../../transports/slack/outbound/escape-text.ts'
import { markdownPosts } from '../../../transports/slack/outbound/slack-fields.ts'
import { splitMarkdown } from '../../../transports/slack/outbound/split-text.ts'
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
    'mentions of everybody': ['<!here> <!subteam^S1|@ops> <!date^1^{date}|today>', '@here @ops today'],
    'entities, once': ['a &lt;b&gt; &amp;amp;', 'a <b> &amp;'],
    'arithmetic, which is not markup': ['2 * 3 * 4', '2 * 3 * 4'],
    'lists and code': ['• one\n    ◦ *two*\n```x = 1```', '- one\n    - **two**\n```\nx = 1\n```'],
    quotes: ['&gt; said', '> said'],
  } satisfies Record<string, [string, string]>
  for (const [name, [slack, markdown]] of Object.entries(cases)) {
    test(name, () => assert.equal(mrkdwnToMarkdown(slack, names), markdown))
  }
})

describe('markdown for Slack', () => {
  test('mentions people, but never a channel or group, and looks the same', () => {
    const text = 'hi <@U1ANN> & ops@channel.com: <!channel>, `<!here|x>`, @everyone and <!subteam^S1|@ops>'
    const disabled = withoutGroupMentions(text)
    assert.equal(disabled.replaceAll('\u200B', ''), text)
    assert.equal(disabled.split('\u200B').length, 5)
    assert.equal(withoutGroupMentions('`if (!channel) return !here`'), '`if (!channel) return !here`')
    for (const hidden of ['_@here_', '.@here', '-@channel', '<!subteam\\^S1>']) {
      assert.ok(withoutGroupMentions(hidden).includes('\u200B'), hidden)
    }
  })

  test('mentions no channel or group in any combination of marks and entities', () => {
    const marks = '< > ! @ \\ &lt; &#33; &excl; &commat; &#x21; &amp; ` |x ^S1'
    const words = 'channel here HERE everyone subteam <!channel> @here'
    const piece = fc.constantFrom('\n', ' ', ...marks.split(' '), ...words.split(' '))
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const text = withoutGroupMentions(pieces.join(''))
        for (const read of [text, decodeHTMLStrict(text), decodeHTMLStrict(text.replaceAll('\\', ''))]) {
          assert.doesNotMatch(read, /<!(channel|here|everyone|subteam\^)/i)
        }
      }),
      { numRuns: 1000 },
    )
  })

  test('is split without losing text, and no part is too long', () => {
    fc.assert(
      fc.property(
        fc.array(fc.lorem({ maxCount: 30 }), { minLength: 1, maxLength: 40 }),
        fc.constantFrom(' ', '\n', '\n\n'),
        (words, glue) => {
          const text = words.join(glue)
          const parts = splitMarkdown(text, 300)
          assert.ok(parts.every((part) => part.length <= 300))
          assert.equal(parts.join('').replaceAll(/\s/g, ''), text.replaceAll(/\s/g, ''))
        },
      ),
      { numRuns: 100 },
    )
  })

  test('keeps code and its language in every part', () => {
    const lines = Array.from({ length: 80 }, (_, line) => `line ${line}`).join('\n')
    const parts = splitMarkdown(`before\n~~~js\n${lines}\n~~~\nafter`, 200)
    assert.ok(parts.length > 3)
    for (const part of parts.slice(1, -1)) assert.match(part, /^~~~js\n[^~]*\n~~~$/)
    assert.match(parts.at(-1) ?? '', /^~~~js\n[^~]*~~~\nafter$/)
  })

  test('keeps nested code: only a fence as long as the opening one closes it', () => {
    const lines = Array.from({ length: 20 }, (_, line) => `line ${line}`).join('\n')
    const inner = `\`\`\`js\n${lines}\n\`\`\``
    const text = `\`\`\`\`md\n${inner}\n${lines}\n\`\`\`\`\n\n${'word '.repeat(60)}`
    const parts = splitMarkdown(text, 120)
    const prose = parts.findIndex((part) => part.includes('word'))
    assert.ok(prose > 3)
    for (const part of parts.slice(0, prose)) assert.match(part, /^````md\n[\s\S]*\n````$/)
    assert.match(parts[prose] ?? '', /^(````md\n[\s\S]*\n````\n\n)?word/)
    for (const part of parts.slice(prose + 1)) assert.doesNotMatch(part, /`/)

    const closedByLonger = splitMarkdown(`\`\`\`\ncode\n\`\`\`\`\n\n${'word '.repeat(60)}`, 120)
    for (const part of closedByLonger.slice(1)) assert.doesNotMatch(part, /`/)
  })

  test('is never split inside a character', () => {
    for (const part of splitMarkdown('👍'.repeat(200), 101)) assert.ok(part.isWellFormed())
  })
})

test('hostile texts are converted in little processor time', () => {
  const [fences, links] = ['```a\n'.repeat(8_000), '['.repeat(100_000)]
  const began = process.cpuUsage()
  assert.equal(mrkdwnToMarkdown(fences, new Map()), fences)
  assert.equal(markdownPosts(links).length, 9)
  // Quadratic work would take minutes.
  const { user } = process.cpuUsage(began)
  assert.ok(user < 2_000_000, `${user / 1000} ms`)
})
