"""Child processes for work on other people's data: bounded in memory and time, without secrets, and
gone with their parent.

parent.py                     frames.py                  child.py, in a process of its own
Child.started ------------------------------------------> run: takes its limits
      ready  <-- an empty frame --------------------------
      ask    --- an order ------------------------------> serve(order)
      answer <-- one frame or several -------------------
      close: killed, whatever it does

What is done in a child is a module with `run(serve)`: page_process, feed_process, notify.
"""
