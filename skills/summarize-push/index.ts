import { z } from 'zod'
import { type Json, pathGet, textAt } from '../../src/core/json.ts'
import { defineSkill } from '../../src/core/skill.ts'

const SHOWN = 5

export default defineSkill({
  name: 'summarize-push',
  description: 'Sums up a GitHub push: who pushed what where.',
  args: z.object({
    payload: z.json().optional().describe('The body of the webhook; default: that of the message'),
  }),
  run: ({ args, message }) => summarize(args.payload ?? message?.data.body),
})

/** Reads only what it finds: the payload comes from outside and may have any form. */
function summarize(push: Json | undefined): string {
  const commits = pathGet(push, 'commits')
  if (!Array.isArray(commits)) return 'This message is no GitHub push: it has no commits.'
  const who = textAt(push, 'pusher.name') ?? textAt(push, 'sender.login') ?? 'Someone'
  const repository = textAt(push, 'repository.full_name') ?? 'an unnamed repository'
  const branch = textAt(push, 'ref')?.replace(/^refs\/(heads|tags)\//, '') ?? 'an unnamed branch'
  if (pathGet(push, 'deleted') === true) return `${who} deleted ${branch} of ${repository}.`

  const verb = pathGet(push, 'forced') === true ? 'force-pushed' : 'pushed'
  const head = `${who} ${verb} ${count(commits.length)} to ${branch} of ${repository}${commits.length ? ':' : '.'}`
  const lines = commits.slice(-SHOWN).map(describeCommit)
  const more = commits.length - lines.length
  const compare = textAt(push, 'compare')
  return [head, ...(more > 0 ? [`… ${more} more before`] : []), ...lines, ...(compare ? [compare] : [])].join(
    '\n',
  )
}

function describeCommit(commit: unknown): string {
  const id = (textAt(commit, 'id') ?? '').slice(0, 7) || '(no id)'
  const title = (textAt(commit, 'message') ?? '').split('\n')[0] || '(no message)'
  const author = textAt(commit, 'author.name')
  return `- ${id} ${title}${author ? ` (${author})` : ''}`
}

function count(commits: number): string {
  return commits === 1 ? '1 commit' : `${commits} commits`
}
