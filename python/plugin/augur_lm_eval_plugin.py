"""Makes `augur` a model of lm-eval's command wherever this package is installed. lm-eval looks for no entry points, so
the .pth file beside this one imports this module when Python starts. Until lm-eval is imported nothing else is."""
import importlib.util
import sys


class _Plugin:
    """A finder that waits for lm-eval's list of models, and adds one to it."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "lm_eval.models":
            return None
        sys.meta_path.remove(cls)
        spec = importlib.util.find_spec(name)
        if spec is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                from lm_eval.api.registry import model_registry
                model_registry.register("augur", target="augur.lm_eval:AugurLM")

            spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, _Plugin)
