"""An interpreter of Amazon States Language, JSONata only, on asyncio with an injected clock.

`StateMachine.parse` reads and checks a definition, `run_execution` runs it against `Services`; `Executions` is the
registry behind StartExecution and its kin, `BotoServices` calls AWS (or an emulated account) by boto3, and
`moto_plugin` puts all of it behind moto's Step Functions API.
"""

from infra.offline.states.errors import InvalidDefinition, Problem, StatesError
from infra.offline.states.history import History
from infra.offline.states.interpreter import ExecutionResult, run_execution
from infra.offline.states.machine import StateMachine
from infra.offline.states.services import Services, TaskContext

__all__ = [
    "ExecutionResult",
    "History",
    "InvalidDefinition",
    "Problem",
    "Services",
    "StateMachine",
    "StatesError",
    "TaskContext",
    "run_execution",
]
