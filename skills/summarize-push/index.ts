import { z } from 'zod'
import { type Json, pathGet, textAt } from '../../src/core/json.ts'
import { defineSkill } from '../../src/core/skill.ts'
import { counted } from '../../src/lib/counted.ts'

/** Maximum number of commits in a summary: the newest ones. */
const MAX_COMMITS = 5

export default defineSkill({
  name: 'summarize-push',
  description: 'Summarises a GitHub push: who pushed what, and where.',
  args: z.object({
    payload: z.json().optional().describe('The body of the webhook; default: that of the message'),
  }),
  run: ({ args, message }) => summarize(args.payload ?? message?.data.body),
})

/** Takes only what it finds, because the payload comes from outside and may have any form. */
function summarize(push: Json | undefined): string {
  const commits = pathGet(push, 'commits')
  if (!Array.isArray(commits)) return 'This message is not a GitHub push: it has no commits.'
  const who = textAt(push, 'pusher.name') ?? textAt(push, 'sender.login') ?? 'Someone'
  const repository = textAt(push, 'repository.full_name') ?? 'an unnamed repository'
  const branch = textAt(push, 'ref')?.replace(/^refs\/(heads|tags)\//, '') ?? 'an unnamed branch'
  if (pathGet(push, 'deleted') === true) return `${who} deleted ${branch} of ${repository}.`

  const verb = pathGet(push, 'forced') === true ? 'force-pushed' : 'pushed'
  const end = commits.length > 0 ? ':' : '.'
  const head = `${who} ${verb} ${counted(commits.length, 'commit')} to ${branch} of ${repository}${end}`
  const lines = commits.slice(-MAX_COMMITS).map(describeCommit)
  const more = commits.length - lines.length
  const compare = textAt(push, 'compare')
  const earlier = more > 0 ? [`… ${more} more before`] : []
  return [head, ...earlier, ...lines, ...(compare ? [compare] : [])].join('\n')
}

function describeCommit(commit: unknown): string {
  const id = (textAt(commit, 'id') ?? '').slice(0, 7) || '(no id)'
  const title = (textAt(commit, 'message') ?? '').split('\n')[0] || '(no message)'
  const author = textAt(commit, 'author.name')
  return `- ${id} ${title}${author ? ` (${author})` : ''}`
}
