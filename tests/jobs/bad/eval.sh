eval "$(cat launch.txt)"
