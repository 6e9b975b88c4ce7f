import { defineSkill, z } from 'trivium'

export default defineSkill({
  name: 'triage',
  description: 'Notes what happens in the repositories.',
  args: z.object({}),
  run({ message, log }) {
    const { action, issue, pull_request } = Object(message?.data.body)
    log.info({ action, title: issue?.title ?? pull_request?.title }, 'noted')
  },
})
