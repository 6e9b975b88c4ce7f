// Payloads as in https://github.com/slackapi/java-slack-sdk/issues/1179 and /issues/647.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { deliverEvent, richText, startSlackGateway } from './harness.ts'

const setup = await startSlackGateway()
after(() => setup.close())
const { server } = setup

/** The attachment by which a message forwards a message of Bob. */
const share = (text: string, more: JsonObject = {}): JsonObject => ({
  from_url: 'https://acme.slack.com/archives/C0OPS/p1665615886364019',
  ts: '1665615886.364019',
  author_id: 'U2BOB',
  author_name: 'Bob',
  author_subname: 'Bob',
  channel_id: 'C0OPS',
  channel_team: 'T0TEAM',
  channel_name: 'ops',
  is_msg_unfurl: true,
  is_share: true,
  message_blocks: [
    { team: 'T0TEAM', channel: 'C0OPS', ts: '1665615886.364019', message: { blocks: richText(text) } },
  ],
  color: 'D0D0D0',
  fallback: `[October 12th, 2022 4:04 PM] bob: ${text}`,
  text,
  mrkdwn_in: ['text'],
  footer: 'Posted in #ops',
  ...more,
})

const fileOf = (name: string) => ({
  id: `F0${name.toUpperCase()}`,
  name: `${name}.txt`,
  mimetype: 'text/plain',
  filetype: 'text',
  mode: 'hosted',
  size: 5,
  url_private: server.file(name, `it is ${name}`),
})

test('a comment is followed by the quoted lines of the forwarded message, with its files', async () => {
  const own = fileOf('mine')
  const theirs = fileOf('theirs')
  const message = await deliverEvent(setup, {
    text: '<@U0BOT> what do you make of this?',
    blocks: richText('what do you make of this?'),
    files: [own],
    attachments: [share('disk full\non host 7', { files: [theirs, own] })],
  })
  assert.equal(
    message.text,
    'what do you make of this?\n\nForwarded message from Bob:\n> disk full\n> on host 7',
  )
  assert.deepEqual(
    message.attachments.map(({ name }) => name),
    ['mine.txt', 'theirs.txt'],
  )
})

test('an unfurled link to a message is quoted, one to a web page is not', async () => {
  const link = '<https://acme.slack.com/archives/C0OPS/p1665615886364019>'
  const { is_share: _, ...unfurl } = share('disk full')
  const page = {
    service_name: 'Acme',
    title: 'Acme',
    title_link: 'https://acme.com',
    text: 'We sell rockets',
  }
  const message = await deliverEvent(setup, { text: `see ${link}`, attachments: [page, unfurl] })
  assert.equal(
    message.text,
    'see https://acme.slack.com/archives/C0OPS/p1665615886364019\n\nForwarded message from Bob:\n> disk full',
  )
})

test('several forwarded messages are all quoted: of a bot with blocks, and with only a file', async () => {
  const report = fileOf('report')
  const alert = share('', {
    author_name: 'Grafana',
    fallback: '[no preview available]',
    message_blocks: [
      {
        message: {
          blocks: [
            { type: 'header', text: { type: 'plain_text', text: 'CPU high' } },
            { type: 'section', text: { type: 'mrkdwn', text: '```load 12\nload 13```' } },
          ],
        },
      },
    ],
  })
  const onlyFile = share('', { fallback: '', message_blocks: [{ message: { files: [report] } }] })
  const message = await deliverEvent(setup, {
    text: 'look',
    attachments: [alert, onlyFile, share('• a\n• b')],
  })
  const code = ['> CPU high', '> ```', '> load 12', '> load 13', '> ```']
  assert.equal(
    message.text,
    [
      'look',
      '',
      'Forwarded message from Grafana:',
      ...code,
      '',
      'Forwarded message from Bob:',
      '> - a',
      '> - b',
    ].join('\n'),
  )
  assert.deepEqual(
    message.attachments.map(({ name }) => name),
    ['report.txt'],
  )
})

test('a mention of the bot in a forwarded message does not count as a mention', async () => {
  const elements = [
    { type: 'text', text: 'ask ' },
    { type: 'user', user_id: 'U0BOT' },
  ]
  const blocks = [{ type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] }]
  const attachments = [share('ask <@U0BOT>', { message_blocks: [{ message: { blocks } }] })]
  const { data, text } = await deliverEvent(setup, { text: 'fyi', attachments })
  assert.equal(data.mention, false)
  assert.match(text, /^fyi\n\nForwarded message from Bob:\n> ask @/)
})
