import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'

// Loaded into each process of a daemon, by NODE_OPTIONS. `bin/trivium.js` replaces its process by
// one with the flags of a daemon; a profiler that runs then ends the new process with SIGPROF.
const file = process.env.TRIVIUM_BENCH_PROFILE_FILE
if (file !== undefined && process.execArgv.some((flag) => flag.startsWith('--max-semi-space-size'))) {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.start')
  process.once('exit', () =>
    session.post('Profiler.stop', (error, { profile }) => {
      if (!error) writeFileSync(file, JSON.stringify(profile))
    }),
  )
}
