import { join } from 'node:path'
import { createSqliteBackend } from '../../src/state/sqlite-backend.ts'
import { describeLogLimits } from './log-limits.contract.ts'
import { describeManager } from './manager.contract.ts'
import { temporaryDir } from './temporary.ts'

describeManager('SQLite', async (t) => {
  const path = join(temporaryDir(t), 'documents.db')
  return () => createSqliteBackend({ path, watchInterval: 20 })
})

describeLogLimits('SQLite', async (t, limits) => {
  const path = join(temporaryDir(t), 'documents.db')
  return () => createSqliteBackend({ path, limits })
})
