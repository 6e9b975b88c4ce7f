import { pathGet } from '../../core/json.ts'
import type { AddCommand } from '../command.ts'
import { EXIT_NOTHING } from '../command.ts'
import { connectOrOpen } from '../connection.ts'
import { wholeNumber } from '../flag-values.ts'
import { showMessage } from '../message-view.ts'
import { pretty, show } from '../terminal.ts'

type SendOptions = { conversation?: string; from?: string; key?: string; subject?: string; wait: string }

/** `trivium message <gateway> <text>` and `trivium message show <id>`. */
export const addMessage: AddCommand = (program, context) => {
  const message = program
    .command('message')
    .description('put a message through a gateway and print the reply, or look at one')
    .enablePositionalOptions()

  message
    .command('send', { isDefault: true })
    .description('message <gateway> <text>: as if it had come in there; the reply is printed')
    .argument('<gateway>', 'a gateway of routes.yaml; `cli` is always there')
    .argument('<text...>', 'the text')
    .option('--conversation <id>', 'go on in this conversation')
    .option('--from <id>', 'who writes')
    .option('--key <key>', 'idempotency key: the same key is accepted once')
    .option('--subject <text>', 'the subject')
    .option('--wait <ms>', 'how long to wait for the reply', '60000')
    .action(async (gateway: string, words: string[], options: SendOptions) => {
      const { wait, ...rest } = options
      const timeout = wholeNumber('--wait', wait)
      const connection = await connectOrOpen(context.environs())
      try {
        const { conversation, from, key, subject } = rest
        const result = await connection.submit({
          gateway,
          text: words.join(' '),
          wait: timeout,
          ...(conversation === undefined ? {} : { conversation }),
          ...(from === undefined ? {} : { from }),
          ...(key === undefined ? {} : { key }),
          ...(subject === undefined ? {} : { subject }),
        })
        show(context.terminal(), result, () => replyText(result))
        if (pathGet(result, 'outcome') === 'failed') context.exit(1)
        else if (timeout > 0 && pathGet(result, 'outcome') === undefined) context.exit(EXIT_NOTHING)
      } finally {
        await connection.close()
      }
    })

  message
    .command('show')
    .description('a message and what became of it on the three roads')
    .argument('<id>', 'the message id')
    .action(async (id: string) => {
      const connection = await connectOrOpen(context.environs())
      try {
        const found = await connection.invoke('message-show', { id })
        show(context.terminal(), found, () => showMessage(found))
      } finally {
        await connection.close()
      }
    })

  message
    .command('list')
    .description('the newest messages')
    .option('--gateway <name>', 'only of this gateway')
    .option('--conversation <id>', 'only of this conversation')
    .option('--limit <n>', 'how many', '20')
    .action(async (options: { gateway?: string; conversation?: string; limit: string }) => {
      const connection = await connectOrOpen(context.environs())
      try {
        const found = await connection.invoke('message-list', {
          ...options,
          limit: wholeNumber('--limit', options.limit),
        })
        const { listMessages } = await import('../message-view.ts')
        show(context.terminal(), found, () => listMessages(found))
      } finally {
        await connection.close()
      }
    })
}

/** The replies as text; where there are none, what became of the message instead. */
function replyText(result: unknown): string {
  const replies = pathGet(result, 'replies')
  const texts = Array.isArray(replies)
    ? replies.map((reply) => String(pathGet(reply, 'text') ?? pretty(reply)))
    : []
  if (texts.length > 0) return texts.join('\n')
  const id = String(pathGet(result, 'id'))
  const why: Record<string, string> = {
    done: 'The skill ran and sent no reply.',
    failed: `The skill failed; see: trivium dead-letters show ${id}`,
    unrouted: `No route matches it; see: trivium routes explain ${id}`,
  }
  const outcome = String(pathGet(result, 'outcome'))
  return `Accepted as ${id}. ${why[outcome] ?? 'No reply came in time.'}`
}
