import { defineSkill, z } from 'trivium'

export default defineSkill({
  name: 'board',
  description: 'Writes a job on the board of the back office; workers pull it themselves.',
  args: z.object({}),
  run({ message, log }) {
    const { job, event } = Object(message?.data.body)
    log.info({ job, event }, 'on the board')
  },
})
